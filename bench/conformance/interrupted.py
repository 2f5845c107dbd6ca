"""Crawl until interrupted, and say on one line what came of it: run as a process, to be sent SIGINT.

python -m inflight.bench.conformance.interrupted STRATEGY URL CAP CONNECTION
"""

import gc
import json
import sys

from inflight import strategies
from inflight.bench.conformance.crawling import left_behind, open_what_stays_open, resources
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier


def main(name: str, url: str, cap: str, connection: str) -> None:
    """Crawl, and print how it ended and what is left."""
    strategy = strategies.load(name)
    open_what_stays_open()
    job = Job.from_dict({"roots": [url], "max_in_flight": int(cap), "connection": connection, "timeout_ns": 60 * 10**9})
    before = resources()
    ended = "done"
    try:
        strategy.crawl(job, Frontier(job))
    except KeyboardInterrupt:
        ended = "interrupted"
    gc.collect()
    print(json.dumps({"ended": ended, "left": left_behind(before)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
