"""The cost of a unit of CPU work: ``python -m inflight.bench.measure.calibrate`` prints it in nanoseconds.

It is a separate program, so that it runs on the client's core with nothing else in its process. All trials of a run use
one calibration, so they compute the same, however busy the machine is.
"""

from inflight.strategies.core.work import cost_ns

BURST_UNITS = 600
BURSTS = 25


def main() -> None:
    """Print the cost of a unit: the median of bursts of a few milliseconds, after a burst that warms up."""
    cost_ns(BURST_UNITS)
    print(cost_ns(BURST_UNITS, BURSTS) / BURST_UNITS)


if __name__ == "__main__":
    main()
