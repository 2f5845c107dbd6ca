"""Fetch 20 pages, one at a time and then several at once, and print how long it takes."""

import time
from concurrent.futures import ThreadPoolExecutor
from urllib.request import urlopen

from local_site import local_site

PAGES = range(1, 21)


def seconds(port: int, at_once: int) -> float:
    """Return the time to fetch all pages with this number of threads, in seconds."""

    def fetch(page: int) -> None:
        urlopen(f"http://127.0.0.1:{port}/p/{page}").read()

    start = time.perf_counter()
    with ThreadPoolExecutor(at_once) as threads:
        list(threads.map(fetch, PAGES))
    return time.perf_counter() - start


def main() -> None:
    """Print a line for each number of threads."""
    with local_site(pages=21, latency="100ms") as port:
        for at_once in (1, 2, 5, 10, 20):
            print(f"{at_once:>2} at once: {seconds(port, at_once):.2f} seconds")


if __name__ == "__main__":
    main()
