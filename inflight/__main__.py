"""``python -m inflight`` is ``inflight``."""

from inflight.bench.cli import main

main()
