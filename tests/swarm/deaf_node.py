"""A Locust worker of a swarm that can be ordered to compute, and sends and receives nothing meanwhile."""

import sys
import time
from typing import Any

from inflight.bench.measure.locust import node


def compute(_node: Any, seconds: float) -> None:
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        pass


if __name__ == "__main__":
    node.ORDERS["compute"] = compute
    sys.exit(node.main())
