"""The expected answer of a crawl, computed from the seeded site alone, without sockets or code of the crawlers.

Trials compare with it what a strategy has fetched (``difference``): a wrong answer makes their row ``wrong``. The
pytest plug-in compares any crawler, whose results ``answer_of`` translates. An answer has for each path the status and
the size of the body; which pages there are follows from the seed of the site.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from functools import lru_cache

from inflight.fake_server.faults import FAULTS
from inflight.fake_server.site import PageSpec, Site, SiteConfig
from inflight.strategies.base import Job

Answer = dict[str, tuple[int | None, int]]
"""Path -> (status, body bytes); (None, 0) for a page that always fails."""


@lru_cache(maxsize=16)
def expected_answer(config: SiteConfig, roots: int, max_redirects: int) -> Answer:
    """Return the expected answer of a crawl from the first ``roots`` pages.

    It follows links, and at most ``max_redirects`` redirects one after another (``Job.max_redirects``).
    """
    site = Site(config)
    answer: Answer = {}
    waiting = deque((n, max_redirects) for n in range(roots))
    seen = set(range(roots))
    while waiting:
        n, redirects_left = waiting.popleft()
        page = site.page(n)
        if page.fault is not None and not FAULTS[page.fault].survivable:
            answer[page.path] = (None, 0)
            continue
        answer[page.path] = (page.status, page.body_bytes)
        queue = [(link, max_redirects) for link in page.links]
        if page.location is not None and redirects_left:
            target = site.number(page.location)
            assert target is not None
            queue = [(target, redirects_left - 1)]
        for link, left in queue:  # redirects that are left on the way from the link
            if link not in seen:
                seen.add(link)
                waiting.append((link, left))
    return answer


@lru_cache(maxsize=16)
def lap_answer(config: SiteConfig) -> Answer:
    """Return the answer of the first lap of an endless site; all laps are alike, except for the lap in their paths."""
    site = Site(config)
    pages = (site.page(n) for n in range(site.first, site.first + config.pages))
    return {page.path: (page.status, page.body_bytes) for page in pages}


@lru_cache(maxsize=16)
def longest_wait_ns(config: SiteConfig) -> int:
    """Return the longest time that the site, or a lap of an endless one, lets a fetch wait: latencies and faults."""
    site = Site(config)
    return max(_wait_ns(site.page(n), config.drip_ns) for n in range(site.first, site.first + config.pages))


def _wait_ns(page: PageSpec, drip_ns: int) -> int:
    """Return how long the tries of a page take at least."""
    if page.fault is not None and not FAULTS[page.fault].survivable:
        return page.delay_ns * Job(roots=()).max_tries
    return page.delay_ns + (drip_ns if page.fault == "drip" else 0)


def root_paths(config: SiteConfig, count: int) -> list[str]:
    """Return the paths of the first ``count`` pages, from which a crawl starts."""
    site = Site(config)
    return [site.url_path(n) for n in range(site.first, site.first + count)]


Found = int | bytes | str | tuple[int | None, int] | None
"""What another crawler may say of a page: its status, its body, (status, body bytes), or None if it got none."""


def answer_of(answered: Iterable[str] | Mapping[str, Found], base: str, expected: Answer) -> Answer:
    """Return as an answer what another crawler found: URLs or paths, alone or with what it says of each.

    What it does not say is taken from the expected answer. Pages that always fail may be left out. Raises TypeError if
    the URLs are not a collection of texts, or if a value is not a ``Found``.
    """
    if not isinstance(answered, Iterable) or isinstance(answered, str | bytes):
        raise TypeError(f"a crawl finds a collection of URLs or paths, not {answered!r}")
    results: Mapping[str, Found] = answered if isinstance(answered, Mapping) else {}
    pages = {path_of(_text(url), base): url for url in answered}
    answer = {path: (None, 0) for path, (status, _) in expected.items() if status is None}
    return answer | {path: _result(results, url, expected.get(path, (None, 0))) for path, url in pages.items()}


def _text(url: object) -> str:
    """Return a URL as it is. Raises TypeError unless it is a text."""
    if not isinstance(url, str):
        raise TypeError(f"a URL or path is a text, not {url!r}")
    return url


def path_of(url: str, base: str) -> str:
    """Return the path of a URL of the site at ``base``, without its fragment; other URLs as they are."""
    whole = url.partition("#")[0]
    for start in (base, base.replace("127.0.0.1", "localhost")):
        if whole == start or whole.startswith(f"{start}/"):
            return whole.removeprefix(start) or "/"
    return whole


def _result(results: Mapping[str, Found], url: str, expected: tuple[int | None, int]) -> tuple[int | None, int]:
    """Return the result of a page as another crawler gives it, completed by the expected one.

    Raises TypeError for a value that is no ``Found``.
    """
    match results.get(url) if url in results else expected:
        case None:
            return None, 0
        case bool() as value:
            raise TypeError(f"{url}: {value} is no status")
        case int() as status:
            return status, expected[1]
        case str() as body:
            return expected[0], len(body.encode())
        case bytes() as body:
            return expected[0], len(body)
        case (int() | None as status, int() as size):
            return status, size
        case other:
            raise TypeError(f"{url}: a page has a status, a body or (status, body bytes), not {type(other).__name__}")


def difference(expected: Answer, got: Answer) -> str | None:
    """Describe the difference of two answers in one sentence, with an example; None when there is none."""
    missing, extra = expected.keys() - got.keys(), got.keys() - expected.keys()
    unlike = [path for path in expected.keys() & got.keys() if expected[path] != got[path]]
    if not (missing or extra or unlike):
        return None
    counts = f"{len(missing)} pages missing, {len(extra)} too many, {len(unlike)} different"
    if unlike:
        path = min(unlike)
        return f"{counts}; for example {path}: expected {described(expected[path])}, got {described(got[path])}"
    return f"{counts}; for example {min(missing or extra)}"


def described(result: tuple[int | None, int]) -> str:
    """Describe the result of a page in words, for messages."""
    status, size = result
    return "a failure" if status is None else f"status {status} with {size} bytes"
