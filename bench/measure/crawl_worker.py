"""The process that crawls for ``inflight crawl`` (``commands.crawl``): a worker that sends the pages that it has.

The command orders ``crawl``, and then ``pages``. At SIGUSR1 it sends the pages that are finished, in the middle of the
crawl as well: so an interrupted command gets them. It ends with the command. Nothing is measured.
"""

import signal
from dataclasses import asdict
from typing import Any

from inflight.bench.measure.worker import Say, serve
from inflight.bench.measure.worker.crawl import StrategyPart
from inflight.bench.measure.worker.threads import die_with_parent


class SiteCrawl(StrategyPart):
    """One crawl of any site; ``parent`` in its order is the process of the command."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        die_with_parent(order["parent"])
        super().__init__(order, say)
        signal.signal(signal.SIGUSR1, lambda _number, _frame: say(self.pages()))

    def crawl(self) -> dict[str, Any]:
        """Crawl once."""
        return {"event": "crawled", **self.timed()}

    def pages(self) -> dict[str, Any]:
        """Return all pages, and what belongs to the summary besides them."""
        frontier = self.frontier
        return {
            "event": "pages",
            "pages": [asdict(page) for page in frontier.pages()],
            "summary": {"peak_in_flight": frontier.peak_in_flight, "not_followed": frontier.not_followed()},
        }


if __name__ == "__main__":
    serve(SiteCrawl)
