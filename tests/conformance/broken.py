"""Strategies that break one rule each: a good one, with one thing wrong."""

import asyncio
import os
import socket
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from http.client import HTTPConnection
from typing import Literal
from unittest.mock import patch
from urllib.parse import urlsplit

from inflight.conformance.sites import LONG_NS
from inflight.strategies import callbacks, sequential
from inflight.strategies.base import Job
from inflight.strategies.client import Answer, crawl_in_tasks
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


def crawl_changed(job: Job, frontier: Frontier, change: Callable[[Fetch, Response], Response]) -> None:
    """Crawl, but finish each fetch with a changed response."""

    class Changing(Around):
        def finish(self, fetch: Fetch, response: Response) -> Sequence[Fetch]:
            return super().finish(fetch, change(fetch, response))

    callbacks.crawl(job, Changing(frontier))


def forgets_to_finish_a_fetch(job: Job, frontier: Frontier) -> None:
    class Forgetful(Around):
        def finish(self, fetch: Fetch, response: Response) -> Sequence[Fetch]:
            return () if fetch.url.endswith("/b") else super().finish(fetch, response)

    sequential.crawl(job, Forgetful(frontier))


def finishes_a_fetch_twice(job: Job, frontier: Frontier) -> None:
    def finish_before(fetch: Fetch, response: Response) -> Response:
        frontier.finish(fetch, response)
        return response

    crawl_changed(job, frontier, finish_before)


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


def forgets_to_close_two_sockets(job: Job, frontier: Frontier) -> None:
    forgets_to_close_a_socket(job, frontier)
    socket.socket()


def ignores_redirects(job: Job, frontier: Frontier) -> None:
    crawl_changed(job, frontier, lambda _, response: response._replace(location=None))


def changes_redirects(job: Job, frontier: Frontier) -> None:
    nowhere = ("/without-location", "/empty")
    crawl_changed(
        job,
        frontier,
        lambda fetch, it: it._replace(status=303) if fetch.url.endswith(nowhere) else it,
    )


def hides_errors_of_servers(job: Job, frontier: Frontier) -> None:
    crawl_changed(job, frontier, lambda _, response: response._replace(status=200))


def ignores_deadlines(job: Job, frontier: Frontier) -> None:
    class Patient(Around):
        def start(self, fetch: Fetch) -> None:
            super().start(fetch)
            fetch.deadline_ns += LONG_NS

    callbacks.crawl(job, Patient(frontier))


def ignores_the_limit_of_bodies(job: Job, frontier: Frontier) -> None:
    callbacks.crawl(replace(job, max_body_bytes=job.max_body_bytes + 1), frontier)


def never_keeps_a_connection(job: Job, frontier: Frontier) -> None:
    callbacks.crawl(replace(job, connection="per-fetch"), frontier)


def takes_stale_connections_for_failures(job: Job, frontier: Frontier) -> None:
    with patch.object(callbacks, "is_stale", return_value=False):
        callbacks.crawl(job, frontier)


def has_another_name(job: Job, frontier: Frontier) -> None:
    real = vars(Fetch)["request"].fget
    with patch.object(
        Fetch,
        "request",
        property(lambda fetch: real(fetch).replace(b"inflight", b"another")),
    ):
        callbacks.crawl(job, frontier)


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


def raises_a_group(job: Job, frontier: Frontier) -> None:
    callbacks.crawl(job, frontier)
    reason = ExceptionGroup("unhandled errors in a TaskGroup", [ValueError("the reason")])
    raise ExceptionGroup("unhandled errors in a nursery", [reason])


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
    def work(_: Fetch, response: Response) -> Response:
        consume(job)
        return response

    crawl_changed(job, frontier, work)


def never_works(job: Job, frontier: Frontier) -> None:
    callbacks.crawl(replace(job, work_units=0), frontier)


def leaks_and_ignores_redirects(job: Job, frontier: Frontier) -> None:
    os.dup(0)
    ignores_redirects(job, frontier)


def never_follows_redirects(job: Job, frontier: Frontier) -> None:
    ignores_redirects(job, frontier)
    if any(fetch.status == 302 for fetch in frontier.finished):
        threading.Event().wait()


def is_slow(job: Job, frontier: Frontier) -> None:
    def wait(_: Fetch, response: Response) -> Response:
        time.sleep(0.05)
        return response

    crawl_changed(job, frontier, wait)


# Clients of asyncio


def fetch(url: str) -> Answer:
    """Fetch a page, blocking."""
    split = urlsplit(url)
    connection = HTTPConnection(split.netloc)
    with closing(connection):
        connection.request("GET", split.path)
        response = connection.getresponse()
        return Answer(response.status, response.getheader("Content-Type"), None, response.read())


@asynccontextmanager
async def no_client(_: Job) -> AsyncIterator[None]:
    yield


def blocks_its_event_loop(job: Job, frontier: Frontier) -> None:
    async def get(_: None, url: str, job: Job) -> Answer:
        time.sleep(0.05)  # noqa: ASYNC251  (the defect)
        with ThreadPoolExecutor(1) as pool:
            return await asyncio.get_running_loop().run_in_executor(pool, fetch, url)

    crawl_in_tasks(job, frontier, no_client, get, {})


def blocks_its_event_loop_for_10_ms(job: Job, frontier: Frontier) -> None:
    pool = ThreadPoolExecutor(50)

    async def get(_: None, url: str, job: Job) -> Answer:
        time.sleep(0.01)  # noqa: ASYNC251  (the defect)
        return await asyncio.get_running_loop().run_in_executor(pool, fetch, url)

    with pool:
        crawl_in_tasks(job, frontier, no_client, get, {})


def calls_blocking_code(job: Job, frontier: Frontier) -> None:
    async def get(_: None, url: str, job: Job) -> Answer:
        return fetch(url)

    crawl_in_tasks(job, frontier, no_client, get, {})


def has_a_small_pool(job: Job, frontier: Frontier) -> None:
    with ThreadPoolExecutor(6) as pool:

        async def get(_: None, url: str, job: Job) -> Answer:
            return await asyncio.get_running_loop().run_in_executor(pool, fetch, url)

        crawl_in_tasks(job, frontier, no_client, get, {})


def sleeps_for_ever_in_a_coroutine(job: Job, frontier: Frontier) -> None:
    async def get(_: None, url: str, job: Job) -> Answer:
        time.sleep(LONG_NS / 1e9)  # noqa: ASYNC251  (the defect)
        return fetch(url)

    crawl_in_tasks(job, frontier, no_client, get, {})


def takes_its_own_bug_for_an_error(job: Job, frontier: Frontier) -> None:
    async def get(_: None, url: str, job: Job) -> Answer:
        raise ValueError("the bug")

    crawl_in_tasks(job, frontier, no_client, get, {ValueError: ProtocolError})
