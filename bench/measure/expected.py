"""The expected answer of a crawl, computed from the seeded site alone, without sockets or code of the crawlers."""

from collections import deque
from functools import lru_cache

from inflight.fake_server.faults import FAULTS
from inflight.fake_server.site import Site, SiteConfig

Answer = dict[str, tuple[int | None, int]]
"""Path -> (status, body bytes); (None, 0) for a page that always fails."""


@lru_cache(maxsize=16)
def expected_answer(config: SiteConfig, roots: int, max_redirects: int) -> Answer:
    """Return the expected answer of a crawl from the first ``roots`` pages."""
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
        found = [(link, max_redirects) for link in page.links]
        if page.location is not None and redirects_left:
            target = site.number(page.location)
            assert target is not None
            found = [(target, redirects_left - 1)]
        for link, left in found:
            if link not in seen:
                seen.add(link)
                waiting.append((link, left))
    return answer


@lru_cache(maxsize=16)
def mean_delay_ns(config: SiteConfig, roots: int, max_redirects: int) -> float:
    """Return the mean delay of the pages of the expected answer."""
    site = Site(config)
    numbers = [site.number(path) for path in expected_answer(config, roots, max_redirects)]
    delays_ns = [site.page(n).delay_ns for n in numbers if n is not None]
    return sum(delays_ns) / max(1, len(delays_ns))


@lru_cache(maxsize=16)
def lap_answer(config: SiteConfig) -> Answer:
    """Return the answer of the first lap of an endless site; all laps are alike, except for the lap in their paths."""
    site = Site(config)
    pages = (site.page(n) for n in range(site.first, site.first + config.pages))
    return {page.path: (page.status, page.body_bytes) for page in pages}


def root_paths(config: SiteConfig, count: int) -> list[str]:
    """Return the paths of the first ``count`` pages, from which a crawl starts."""
    site = Site(config)
    return [site.url_path(n) for n in range(site.first, site.first + count)]


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
    """Describe the result of a page."""
    status, size = result
    return "a failure" if status is None else f"status {status} with {size} bytes"
