"""The loop of ``null_client`` around the shared core: no model, and nothing else."""

from collections import deque
from typing import Literal

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import ResponseParser
from inflight.strategies.core.work import consume
from inflight.strategies.null_client import Conversation, drive

STACK: Literal["shared", "own", "none"] = "none"
REQUIRES: tuple[str, ...] = ()
GROUP = "parts"
NO_TLS = "it measures a part of a page, without encryption"
SYSTEM = "linux"
VARIANT_OF = "null_client"


def crawl(job: Job, frontier: Frontier) -> None:
    """Crawl an endless site on one origin. There are no deadlines, no second tries and no new connections.

    As many pages as there are roots always wait or are in flight, so a connection never has nothing to do.
    """
    waiting = deque(frontier.roots())

    def converse() -> Conversation:
        parser = ResponseParser(job.max_header_bytes, job.max_body_bytes)
        while waiting:
            fetch = waiting.popleft()
            frontier.start(fetch)
            data = yield fetch.request
            while (response := parser.feed(data)) is None:
                data = yield b""
            consume(job)
            waiting.extend(frontier.finish(fetch, response))

    drive(job, waiting[0].origin, converse)
