"""The worker of idle threads or tasks: start N of them, report it, and wait until the input ends.

Memory is read before and after; the harness sends ``start`` between the two.
"""

import contextlib
import resource
import threading
import time
from typing import Any

from inflight.bench.measure.idle import kinds as idle
from inflight.bench.measure.worker import Part, Say, serve


class Idle(Part):
    """N idle threads or tasks of one kind."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        super().__init__(order, say)
        self._order = order
        self._start = idle.KINDS[order["what"]]
        with contextlib.suppress(idle.ShortageError):
            self._first = self._start(1, order["port"])  # imports and the first arena belong to the baseline

    def knobs(self) -> dict[str, Any]:
        """Add what is idle, and the address space of a new thread's stack (pthread_create(3))."""
        stack = threading.stack_size() or resource.getrlimit(resource.RLIMIT_STACK)[0]
        return {"idle": self._order["what"]} | super().knobs() | {"stack_bytes": stack}

    def start(self) -> dict[str, Any]:
        """Start all, and return how many there are."""
        error, cause, held = None, None, idle.Held(0, None)
        begin_ns = time.perf_counter_ns()
        try:
            held = self._held = self._start(self._order["n"], self._order["port"])
        except idle.ShortageError as shortage:
            error, cause, held = str(shortage), "limit", idle.Held(shortage.started, None)
        except MemoryError:
            error, cause = "MemoryError", "limit"
        start_ns = time.perf_counter_ns() - begin_ns
        return {"event": "started", "error": error, "cause": cause, "started": held.started, "start_ns": start_ns}

    def end(self) -> None:
        """End at once: cancelling a million tasks one by one takes minutes."""
        idle.end()


if __name__ == "__main__":
    serve(Idle)
