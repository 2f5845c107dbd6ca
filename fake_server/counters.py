"""Counters of requests and responses, and the lateness of timers. They are always on; `stats` is a snapshot."""

import resource
import time
from collections import Counter, defaultdict
from typing import Any

_BUCKET_NS = 10_000


class Counters:
    """Counters as plain attributes, because the hot path adds to them directly."""

    __slots__ = (
        "bytes_sent",
        "connections",
        "faults",
        "first_lateness",
        "in_flight",
        "lateness",
        "peak_at_ns",
        "peak_connections",
        "peak_in_flight",
        "requests",
        "statuses",
        "total_connections",
    )

    def __init__(self) -> None:
        self.connections = 0
        self.in_flight = 0
        self.reset()

    def reset(self) -> None:
        """Reset all counters; peaks restart from the numbers open and in flight now."""
        self.requests = 0
        self.bytes_sent = 0
        self.total_connections = 0
        self.peak_connections = self.connections
        self.peak_in_flight = self.in_flight
        self.peak_at_ns = time.monotonic_ns()
        self.statuses: Counter[int] = Counter()
        self.faults: Counter[str] = Counter()
        self.lateness = Lateness()
        self.first_lateness = Lateness()

    def stats(self) -> dict[str, Any]:
        """Return the counts, the CPU time of this process and the clock to divide it by."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "requests": self.requests,
            "in_flight": self.in_flight,
            "peak_in_flight": self.peak_in_flight,
            "peak_at_ns": self.peak_at_ns,
            "connections": self.connections,
            "peak_connections": self.peak_connections,
            "total_connections": self.total_connections,
            "bytes_sent": self.bytes_sent,
            "responses_by_status": {str(status): count for status, count in sorted(self.statuses.items())},
            "faults": dict(sorted(self.faults.items())),
            "lateness_p50_ns": self.lateness.quantile_ns(0.50),
            "lateness_p90_ns": self.lateness.quantile_ns(0.90),
            "lateness_p99_ns": self.lateness.quantile_ns(0.99),
            "lateness_max_ns": self.lateness.greatest_ns,
            "lateness_count": self.lateness.count,
            "first_lateness_max_ns": self.first_lateness.greatest_ns,
            "first_lateness_count": self.first_lateness.count,
            "cpu_ns": time.process_time_ns(),
            "cpu_user_ns": round(usage.ru_utime * 1e9),
            "cpu_system_ns": round(usage.ru_stime * 1e9),
            "clock_ns": time.monotonic_ns(),
        }


class Lateness:
    """Histogram of time sent minus time due, in buckets of 10 µs."""

    __slots__ = ("_buckets", "count", "greatest_ns")

    def __init__(self) -> None:
        self._buckets: defaultdict[int, int] = defaultdict(int)
        self.count = 0
        self.greatest_ns = 0

    def record(self, late_ns: int) -> None:
        """Count one response."""
        self._buckets[late_ns // _BUCKET_NS] += 1
        self.count += 1
        self.greatest_ns = max(self.greatest_ns, late_ns)

    def counts(self) -> dict[str, int]:
        """Return the numbers of responses by the upper edges of the buckets in nanoseconds."""
        return {str((bucket + 1) * _BUCKET_NS): count for bucket, count in self._buckets.items()}

    def quantile_ns(self, share: float) -> int:
        """Return the upper edge of the bucket that holds the quantile, at most the maximum; 0 if empty."""
        rank, seen = share * self.count, 0
        for bucket, count in sorted(self._buckets.items()):
            seen += count
            if seen >= rank:
                return min((bucket + 1) * _BUCKET_NS, self.greatest_ns)
        return 0
