"""Do some work in one thread, then in each of four threads. Print the best of three times."""

import hashlib
import time
from collections.abc import Callable
from threading import Thread
from urllib.request import urlopen

from local_site import local_site

TEXT = b"x" * 100_000_000


def compute() -> None:
    """Add numbers, in Python."""
    total = 0
    for number in range(3_000_000):
        total += number


def digest() -> None:
    """Compute too, but in a library written in C."""
    hashlib.sha256(TEXT)


def in_threads(work: Callable[[], None], threads: int) -> float:
    """Return the seconds until all threads have done the work."""
    team = [Thread(target=work) for _ in range(threads)]
    start = time.perf_counter()
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    return time.perf_counter() - start


def main() -> None:
    """Print a line for each kind of work."""
    with local_site(pages=1, latency="200ms") as port:

        def fetch() -> None:
            urlopen(f"http://127.0.0.1:{port}/").read()

        for name, work in (("wait for a page", fetch), ("compute in Python", compute), ("compute in C", digest)):
            one, four = (min(in_threads(work, threads) for _ in range(3)) * 1000 for threads in (1, 4))
            print(f"{name:<18} 1 thread: {one:>4.0f} ms   4 threads: {four:>4.0f} ms   {four / one:.1f} times as long")


if __name__ == "__main__":
    main()
