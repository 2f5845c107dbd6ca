"""Run Locust in a closed loop: a client of the fake server that shares no code with the strategies.

It is a separate process, because importing Locust replaces the blocking calls of the standard library. The harness
sends ``go``, and ``report`` after the answer, when nothing is in flight any more.

Its users only send one request after the other, without pauses. The user that browses (``page_user``) parses each page
for links and checks it, which would count as Locust's own cost.
"""

import locust  # isort: skip  (first of all: it patches what the others import)

import itertools
import time
from collections import Counter
from typing import Any

import gevent
from locust.contrib.fasthttp import FastHttpUser
from locust.env import Environment
from locust.exception import StopUser

from inflight.bench.measure.worker import Part, Say, serve
from inflight.strategies.core import record

NAME = "/p/[n]"
"""The one entry of Locust's statistics for all pages."""
MOST_TEXTS = 10
"""Maximum number of different errors reported."""
DRAIN_S = 15
"""Timeout for the last responses after the last request."""


class Loop:
    """The state that all users of a run share: the pages to fetch, whether to end, and the results."""

    def __init__(self, pages: int, body_bytes: int) -> None:
        self.paths = itertools.cycle([f"/p/{n}" for n in range(1, pages)] or ["/"])
        self.body_bytes = body_bytes
        self.over = False
        self.spans_ns: list[tuple[int, int]] = []
        """(started, finished) of each request with a right answer."""
        self.errors: Counter[str] = Counter()

    def note(self, response_time: float, response_length: int, exception: Exception | None, **_: object) -> None:
        """Note one request that Locust reports; ``response_time`` is measured by Locust, in milliseconds."""
        finished_ns = time.perf_counter_ns()
        if exception is not None:
            self.errors[f"{type(exception).__name__}: {exception}"[:200]] += 1
        elif response_length != self.body_bytes:
            self.errors[f"a body of {response_length} bytes instead of {self.body_bytes}"] += 1
        else:
            self.spans_ns.append((finished_ns - round(response_time * 1e6), finished_ns))

    @property
    def requests(self) -> int:
        """Number of requests that have ended, with or without an error."""
        return len(self.spans_ns) + self.errors.total()


class ClosedLoop(Part):
    """A closed loop of users, and what they measure after the warm-up."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        super().__init__(order, say)
        loop = self._loop = Loop(order["pages"], order["body_bytes"])
        self._order = order

        class PlainUser(FastHttpUser):
            @locust.task
            def fetch(self) -> None:
                if loop.over:
                    raise StopUser
                self.client.get(next(loop.paths), name=NAME)

        self._environment = Environment(user_classes=[PlainUser], host=order["base"])
        self._environment.events.request.add_listener(loop.note)  # type: ignore[no-untyped-call]
        self._runner = self._environment.create_local_runner()

    def knobs(self) -> dict[str, Any]:
        """Return the knobs of any worker, and Locust's version."""
        return super().knobs() | {"locust": locust.__version__}

    def go(self) -> dict[str, Any]:
        """Load the server for the warm-up and the given time, then wait until nothing is in flight."""
        order, loop = self._order, self._loop
        self._runner.start(order["users"], spawn_rate=order["users"])
        gevent.sleep(order["warm_up_s"])
        self._warm_ns, cpu_before_ns = time.perf_counter_ns(), time.process_time_ns()
        gevent.sleep(order["seconds"])
        cpu_ns, elapsed_ns = time.process_time_ns() - cpu_before_ns, time.perf_counter_ns() - self._warm_ns
        self._spent = {"cpu_ns": cpu_ns, "elapsed_ns": elapsed_ns}
        loop.over = True
        self._runner.user_greenlets.join(DRAIN_S)
        return {"event": "finished", "requests": loop.requests}

    def report(self) -> dict[str, Any]:
        """Return the outcome."""
        return {
            "event": "outcome",
            **outcome(self._loop, self._warm_ns, self._order["users"]),
            "locust_requests": self._environment.stats.total.num_requests,
            **self._spent,
        }


def outcome(loop: Loop, warm_ns: int, users: int) -> dict[str, Any]:
    """Return what was measured after the warm-up.

    Throughput counts only the time in which the loop was full, and only whole turns of the loop. With a constant
    latency, answers arrive in waves as large as the loop, so a window that cuts a wave is wrong by part of a wave.
    """
    warm = sorted(span for span in loop.spans_ns if span[0] >= warm_ns)
    warm = warm[: len(warm) // users * users]
    return {
        "requests": loop.requests,
        "steady": record.steady_state(warm, users),
        "service": record.summary([finished - started for started, finished in warm]),
        "failed": loop.errors.total(),
        "errors": dict(loop.errors.most_common(MOST_TEXTS)),
    }


if __name__ == "__main__":
    serve(ClosedLoop)
