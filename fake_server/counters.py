"""What was served, and how late the timers were. All of it is always on; `stats` is a snapshot."""

import resource
import time
from collections import Counter
from typing import Any

_BUCKET_NS = 10_000
_BUCKETS = 100_000  # up to one second; later than that is counted in the last bucket, and seen in the maximum


class Counters:
    """Plain attributes, because the hot path adds to them directly."""

    __slots__ = (
        "bytes_sent",
        "connections",
        "faults",
        "first_lateness",
        "in_flight",
        "lateness",
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
        """Zero what has been counted; peaks start again from what is open and in flight now."""
        self.requests = 0
        self.bytes_sent = 0
        self.total_connections = 0
        self.peak_connections = self.connections
        self.peak_in_flight = self.in_flight
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
            "first_lateness_p99_ns": self.first_lateness.quantile_ns(0.99),
            "first_lateness_count": self.first_lateness.count,
            "cpu_ns": time.process_time_ns(),
            "cpu_user_ns": round(usage.ru_utime * 1e9),
            "cpu_system_ns": round(usage.ru_stime * 1e9),
            "clock_ns": time.monotonic_ns(),
        }


class Lateness:
    """A histogram of time sent minus time due, in buckets of 10 us."""

    __slots__ = ("_buckets", "count", "greatest_ns")

    def __init__(self) -> None:
        self._buckets = [0] * _BUCKETS
        self.count = 0
        self.greatest_ns = 0

    def record(self, late_ns: int) -> None:
        """Count one response."""
        bucket = late_ns // _BUCKET_NS
        self._buckets[bucket if bucket < _BUCKETS else -1] += 1
        self.count += 1
        self.greatest_ns = max(self.greatest_ns, late_ns)

    def quantile_ns(self, share: float) -> int:
        """Return the upper edge of the bucket that holds the quantile, at most the maximum; 0 when empty."""
        if not self.count:  # asked for every 20 ms while a trial's fetches come in: not to be a walk over nothing
            return 0
        rank, seen = share * self.count, 0
        for bucket, count in enumerate(self._buckets):
            seen += count
            if seen >= rank:
                return min((bucket + 1) * _BUCKET_NS, self.greatest_ns)
        return 0
