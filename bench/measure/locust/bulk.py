"""Thousands of finished fetches at once into Locust's statistics: one call a report, not one event a fetch.

Locust's own way, an event and a log call for each request, costs tens of microseconds a request: what holds a hundred
thousand fetches would spend its time on telling of them. The entries that come of it are the same, but for one thing:
requests a second are counted in the second in which they are added, not in the one in which they ended.

Nothing here imports Locust until ``add`` is called, in a process that has it already.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

NS_PER_MS = 1_000_000


class Bulk(NamedTuple):
    """What some fetches add to a statistics entry. All times are milliseconds, as they are in Locust."""

    times_ms: dict[int, int]
    """Service time, rounded as Locust rounds it -> how many fetches took as long."""
    total_ms: float
    min_ms: float
    max_ms: float
    bytes: int
    """Of all bodies together."""
    failures: dict[str, int]
    """What went wrong -> how often. A fetch that failed is in ``times_ms`` too, as it is in Locust."""


def bulk_of(service_ns: Sequence[int], size_bytes: int, failures: Mapping[str, int]) -> Bulk:
    """Sum up finished fetches: the service times of all of them, and how many of them failed of what."""
    if not service_ns:
        return Bulk({}, 0, 0, 0, size_bytes, dict(failures))
    times_ms: Counter[int] = Counter()
    for time_ns, count in Counter(service_ns).items():
        times_ms[rounded_ms(time_ns / NS_PER_MS)] += count
    total_ms, min_ms, max_ms = (one(service_ns) / NS_PER_MS for one in (sum, min, max))
    return Bulk(dict(times_ms), total_ms, min_ms, max_ms, size_bytes, dict(failures))


def rounded_ms(time_ms: float) -> int:
    """Return a time as Locust keeps it: to the millisecond below 100, else to two significant digits.

    As ``locust.stats.bucket_response_time`` does, which cannot be imported without patching the whole process.
    """
    if time_ms < 100:
        return round(time_ms)
    if time_ms < 1000:
        return int(round(time_ms, -1))
    return int(round(time_ms, -2 if time_ms < 10_000 else -3))


def add(environment: Any, method: str, name: str, bulk: Bulk) -> None:
    """Put a bulk into the statistics of a Locust environment: into the entry of this name, and into the total.

    On a Locust worker, the next report takes them to the master like any others.
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
    """Return the bulk as a statistics entry, for Locust to merge as a master merges what its workers report."""
    from locust.stats import StatsEntry

    count, failed, second = sum(bulk.times_ms.values()), sum(bulk.failures.values()), int(now_s)
    entry = StatsEntry(like.stats, like.name, like.method)
    entry.start_time = like.start_time  # it is not what began first
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
