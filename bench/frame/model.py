"""A model of the closed loop: expected throughput and the knee.

Each of N fetches in flight takes the added latency L and the CPU time c. The throughput in pages per second is
X(N) = min(N / (L + c), 1 / c), because a client whose core needs c per page cannot exceed 1 / c. The two asymptotes
meet at the knee, N* = (L + c) / c.

These are the asymptotic bounds of closed queueing networks (P. J. Denning and J. P. Buzen, "The Operational Analysis of
Queueing Network Models", 1978; E. D. Lazowska et al., "Quantitative System Performance", 1984, chapter 5). Pure.
"""

CLEARLY_ABOVE = 1.5
"""Multiple of the knee that is clearly above it."""


def knee(added_ns: float, cpu_ns: float) -> float:
    """Return (L + c) / c: the knee of a loop whose fetches take only their latency and their CPU time."""
    return (added_ns + cpu_ns) / cpu_ns


def bound_per_s(in_flight: float, added_ns: float, cpu_ns: float) -> float:
    """Return the maximum pages per second of that loop, X(N) = min(N / (L + c), 1 / c), reached far from the knee."""
    return min(in_flight / (added_ns + cpu_ns), 1 / cpu_ns) * 1e9
