"""Crawl until interrupted, again and again, and say on a line for each crawl what came of it.

python -m inflight.conformance.interrupted STRATEGY CAP

Standard input has a line for each crawl: the use of connections and the URL. Each crawl is sent a SIGINT.
"""

import gc
import json
import sys

from inflight import strategies
from inflight.conformance.crawling import LONG_NS, left_behind, open_what_stays_open, resources
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier


def main(name: str, cap: str) -> None:
    """Crawl, and print how each crawl ended and what is left."""
    strategy = strategies.load(name)
    open_what_stays_open()
    for line in sys.stdin:
        connection, url = line.split()
        job = Job.from_dict(
            {"roots": [url], "max_in_flight": int(cap), "connection": connection, "timeout_ns": LONG_NS}
        )
        before = resources()
        ended = "done"
        try:
            strategy.crawl(job, Frontier(job))
        except KeyboardInterrupt:
            ended = "interrupted"
        gc.collect()
        print(json.dumps({"ended": ended, "left": left_behind(before)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
