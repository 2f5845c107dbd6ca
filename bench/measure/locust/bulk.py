"""Add thousands of finished fetches to Locust's statistics in one call.

Locust's own way, an event and a log call per request, costs tens of microseconds each, too much for a hundred thousand
fetches. The resulting entries are the same with one exception: requests per second are counted in the second in which
they are added, not in the second in which they ended.

This module imports Locust only when ``add`` is called, in a process that has already imported it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

NS_PER_MS = 1_000_000


class Bulk(NamedTuple):
    """The sums of some fetches for a statistics entry. All times are milliseconds, as in Locust."""

    times_ms: dict[int, int]
    """Service time, rounded as in Locust -> number of fetches."""
    total_ms: float
    min_ms: float
    max_ms: float
    bytes: int
    """Size of all bodies together."""
    failures: dict[str, int]
    """Error -> number of fetches. A failed fetch is in ``times_ms`` too, as in Locust."""


def bulk_of(service_ns: Sequence[int], size_bytes: int, failures: Mapping[str, int]) -> Bulk:
    """Sum up finished fetches from the service times of all of them, and the number of failures by error."""
    if not service_ns:
        return Bulk({}, 0, 0, 0, size_bytes, dict(failures))
    times_ms: Counter[int] = Counter()
    for time_ns, count in Counter(service_ns).items():
        times_ms[rounded_ms(time_ns / NS_PER_MS)] += count
    total_ms, min_ms, max_ms = (one(service_ns) / NS_PER_MS for one in (sum, min, max))
    return Bulk(dict(times_ms), total_ms, min_ms, max_ms, size_bytes, dict(failures))


def rounded_ms(time_ms: float) -> int:
    """Round a time as Locust does: to the millisecond below 100, else to two significant digits.

    This repeats ``locust.stats.bucket_response_time``, as importing Locust would patch the process.
    """
    if time_ms < 100:
        return round(time_ms)
    if time_ms < 1000:
        return int(round(time_ms, -1))
    return int(round(time_ms, -2 if time_ms < 10_000 else -3))


def add(environment: Any, method: str, name: str, bulk: Bulk) -> None:
    """Add a bulk to the statistics of a Locust environment: to the entry of this name and to the total.

    On a Locust worker, the next report sends them to the master with all others.
    """
    import time

    from locust.stats import StatsError

    now_s, stats = time.time(), environment.stats
    for entry in (stats.total, stats.entries[name, method]):
        entry.extend(_as_entry(bulk, entry, now_s))
    for text, count in bulk.failures.items():
        error = stats.errors.setdefault(StatsError.create_key(method, name, text), StatsError(method, name, text))
        error.occurrences += count - 1
        error.occurred()  # one more, at this time


def _as_entry(bulk: Bulk, like: Any, now_s: float) -> Any:
    """Return the bulk as a statistics entry, which Locust can merge as it merges the reports of workers."""
    from locust.stats import StatsEntry

    count, failed, second = sum(bulk.times_ms.values()), sum(bulk.failures.values()), int(now_s)
    entry = StatsEntry(like.stats, like.name, like.method)
    entry.start_time = like.start_time  # so that merging does not move the start
    entry.num_requests, entry.num_failures = count, failed
    entry.total_content_length = bulk.bytes
    if failed:
        entry.num_fail_per_sec = {second: failed}
    if count:
        entry.last_request_timestamp = now_s
        entry.response_times = bulk.times_ms
        entry.num_reqs_per_sec = {second: count}
        # Locust annotates these as int, and puts floats into them itself.
        entry.total_response_time = bulk.total_ms  # type: ignore[assignment]
        entry.min_response_time = bulk.min_ms  # type: ignore[assignment]
        entry.max_response_time = bulk.max_ms  # type: ignore[assignment]
    return entry
