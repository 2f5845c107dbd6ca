"""Benchmarks of every strategy for pytest-benchmark: ``make bench``, or ``pytest --pyargs bench.suite``.

What is timed is one turn of a worker process (``bench.measure.turns``), so nothing of pytest runs where it is measured.
The columns of pytest-benchmark show the time of a turn as pytest saw it; what the worker and the server counted is in
each benchmark's ``extra_info``.
"""
