"""Show what runs before and after the wait of one fetch, in three strategies: which functions are called, which go on.

Each strategy crawls a site of two pages. From the start of the second fetch to its end, the program records the
functions of the strategy's own file, and every call of the selector.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from types import FrameType

from local_site import local_site

from inflight import strategies
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import Response
from inflight.strategies.core.page import Fetch


def main() -> None:
    """Print the steps of one fetch in each strategy."""
    with local_site(pages=2, latency="20ms") as port:
        for name in ("callbacks", "generators", "native_asyncio"):
            print(name)
            for what, functions in lines(steps(name, f"http://127.0.0.1:{port}/")):
                print(f"  {what:<8} {functions}".rstrip())


def steps(name: str, url: str) -> list[tuple[str, str]]:
    """Crawl; return what happened and in which function, from the start of the second fetch to its end."""
    strategy = strategies.load(name)
    file = strategy.crawl.__code__.co_filename
    noted: list[tuple[str, str]] = []
    seen: dict[int, FrameType] = {}  # the frames themselves are kept, so that no number is used again

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code.co_name == "select" and code.co_filename.endswith("selectors.py"):
            noted.append(("waits", ""))
        elif code.co_filename == file and not code.co_name.startswith("__"):
            noted.append(("goes on" if id(frame) in seen else "calls", code.co_name))
            seen[id(frame)] = frame

    class Watched(Frontier):
        def start(self, fetch: Fetch) -> None:
            super().start(fetch)
            noted.clear()

        def finish(self, fetch: Fetch, response: Response) -> Sequence[Fetch]:
            if self.finished:  # it is the second one
                sys.setprofile(None)
            return super().finish(fetch, response)

    job = Job((url,), max_in_flight=1)
    sys.setprofile(note)
    strategy.crawl(job, Watched(job))
    return noted


def lines(noted: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Join consecutive entries of the same kind into one line."""
    for what, steps_of_it in groupby(noted, key=lambda step: step[0]):
        yield what, " > ".join(function for _, function in steps_of_it if function)


if __name__ == "__main__":
    main()
