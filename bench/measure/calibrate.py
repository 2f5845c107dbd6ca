"""How much CPU work a unit is on this machine: ``python -m inflight.bench.measure.calibrate`` prints it in nanoseconds.

A program of its own, so that it can be run on the client's core, and with nothing else in its process. All trials of a
run go by one calibration: what they compute is then the same, whatever the machine is busy with meanwhile.
"""

from inflight.strategies.core.work import cost_ns

BURST_UNITS = 600
BURSTS = 25


def main() -> None:
    """Print what a unit costs: the median of bursts of a few milliseconds, behind a first one that warms up."""
    cost_ns(BURST_UNITS)
    print(cost_ns(BURST_UNITS, BURSTS) / BURST_UNITS)


if __name__ == "__main__":
    main()
