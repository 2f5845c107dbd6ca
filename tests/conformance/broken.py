"""Strategies that break one rule each: a good one, with one thing wrong."""

import os
import socket
import threading
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from inflight.strategies import callbacks, sequential
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import ProtocolError, Response
from inflight.strategies.core.page import Fetch
from inflight.strategies.core.work import consume

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()


class Around(Frontier):
    """The same frontier under another class."""

    def __init__(self, frontier: Frontier) -> None:
        self.__dict__ = frontier.__dict__


def forgets_to_finish_a_fetch(job: Job, frontier: Frontier) -> None:
    class Forgetful(Around):
        def finish(self, fetch: Fetch, response: Response) -> Sequence[Fetch]:
            return () if fetch.url.endswith("/b") else super().finish(fetch, response)

    sequential.crawl(job, Forgetful(frontier))


def finishes_a_fetch_twice(job: Job, frontier: Frontier) -> None:
    class Eager(Around):
        def finish(self, fetch: Fetch, response: Response) -> Sequence[Fetch]:
            found = super().finish(fetch, response)
            super().finish(fetch, response)
            return found

    callbacks.crawl(job, Eager(frontier))


def exceeds_the_cap(job: Job, frontier: Frontier) -> None:
    callbacks.crawl(replace(job, max_in_flight=job.max_in_flight + 1), frontier)


def leaks_a_thread(job: Job, frontier: Frontier) -> None:
    threading.Thread(target=threading.Event().wait, name="forgotten", daemon=True).start()
    callbacks.crawl(job, frontier)


def leaks_a_descriptor(job: Job, frontier: Frontier) -> None:
    os.dup(0)
    callbacks.crawl(job, frontier)


def forgets_to_close_a_socket(job: Job, frontier: Frontier) -> None:
    callbacks.crawl(job, frontier)
    socket.socket()


def ignores_redirects(job: Job, frontier: Frontier) -> None:
    class Deaf(Around):
        def finish(self, fetch: Fetch, response: Response) -> Sequence[Fetch]:
            return super().finish(fetch, response._replace(location=None))

    callbacks.crawl(job, Deaf(frontier))


def changes_redirects(job: Job, frontier: Frontier) -> None:
    class Wrong(Around):
        def finish(self, fetch: Fetch, response: Response) -> Sequence[Fetch]:
            is_deaf = fetch.url.endswith(("/without-location", "/empty"))
            return super().finish(fetch, response._replace(status=303) if is_deaf else response)

    callbacks.crawl(job, Wrong(frontier))


def swallows_an_error(job: Job, frontier: Frontier) -> None:
    try:
        callbacks.crawl(job, frontier)
    except RuntimeError:
        os.write(2, b"an error\n")


def lets_a_network_error_out(job: Job, frontier: Frontier) -> None:
    class Fragile(Around):
        def fail(self, fetch: Fetch, error: OSError | ProtocolError) -> Sequence[Fetch]:
            super().fail(fetch, error)
            raise error

    callbacks.crawl(job, Fragile(frontier))


def warns(job: Job, frontier: Frontier) -> None:
    warnings.warn("a library is old", DeprecationWarning, stacklevel=1)
    callbacks.crawl(job, frontier)


def never_returns(job: Job, frontier: Frontier) -> None:
    callbacks.crawl(job, frontier)
    threading.Event().wait()


def ends_the_process(job: Job, frontier: Frontier) -> None:
    callbacks.crawl(job, frontier)
    os._exit(5)


def works_twice_per_page(job: Job, frontier: Frontier) -> None:
    class Busy(Around):
        def finish(self, fetch: Fetch, response: Response) -> Sequence[Fetch]:
            consume(job)
            return super().finish(fetch, response)

    callbacks.crawl(job, Busy(frontier))


def never_works(job: Job, frontier: Frontier) -> None:
    callbacks.crawl(replace(job, work_units=0), frontier)
