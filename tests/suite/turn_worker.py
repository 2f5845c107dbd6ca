"""A worker that does the same crawl again and again, a turn each time it is told: what pytest-benchmark calls.

Garbage of the turn before is collected before the clocks are read, so that every turn begins alike.
"""

import gc
from typing import Any

from inflight.bench.measure.worker import serve
from inflight.bench.measure.worker.crawl import StrategyPart
from inflight.strategies.core.frontier import Frontier


class Turns(StrategyPart):
    """As many crawls as are asked for, and the answer of the last one."""

    def crawl(self) -> dict[str, Any]:
        """Crawl once; return the time, and the numbers of pages, failures, tries and fetches in flight."""
        del self.frontier
        gc.collect()
        frontier = self.frontier = Frontier(self.job)
        timed = self.timed()
        return {
            "event": "crawled",
            "error": timed["error"],
            "cpu_ns": timed["cpu_ns"],
            "makespan_ns": timed["end_ns"] - timed["begin_ns"],
            "pages": len(frontier.finished),
            "failed_pages": sum(fetch.status is None for fetch in frontier.finished),
            "tries": sum(fetch.tries for fetch in frontier.finished),
            "peak_in_flight": frontier.peak_in_flight,
        }

    def answer(self) -> dict[str, Any]:
        """Return the answer of the last crawl: path, status (null for a failure) and body bytes of every page."""
        fetches = self.frontier.finished
        return {
            "event": "answer",
            "answer": [
                [
                    fetch.url[len(fetch.origin.prefix) :],
                    fetch.status,
                    fetch.size,
                ]
                for fetch in fetches
            ],
        }


if __name__ == "__main__":
    serve(Turns)
