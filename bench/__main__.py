"""``python -m bench`` is ``inflight``."""

from bench.cli import main

main()
