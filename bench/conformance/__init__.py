"""The conformance suite: the rules of ``inflight.strategies.base`` as tests, run for any strategy."""
