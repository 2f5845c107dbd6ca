"""The claim that hundreds of thousands of coroutines start easily. Pure."""

from collections.abc import Sequence

from bench.core import units
from bench.core.rows import Row
from bench.studies.claims.rules.evidence import Case, Range, of_kind, shows_a_limit, why_too_little
from bench.studies.claims.rules.evidence import between as counted
from bench.studies.claims.rules.outcome import Outcome, Value, Word

HUNDREDS_OF_THOUSANDS = 500_000
EASY_NS = 60_000_000_000
"""A program that needs a minute to start its coroutines does not start them easily."""
PARKED = ("generator", "generator_task", "asyncio_task")
NAMES = {
    "generator": "a generator",
    "generator_task": "a generator in a task",
    "asyncio_task": "an asyncio task",
    "asyncio_task_socket": "a task with a socket",
    "asyncio_task_stream": "a task with a stream",
}
_MANY = {"asyncio_task": "asyncio tasks", "generator_task": "generators in tasks", "generator": "generators"}


def many_coroutines(rows: Sequence[Row]) -> Outcome:
    """Judge whether hundreds of thousands of coroutines start, and whether that is easy."""
    tried = [row for row in of_kind(rows, "block") if row.workload["n"] >= HUNDREDS_OF_THOUSANDS]
    values: dict[str, Value] = {"most": None, "slowest_ns": None, "largest_bytes": None, "least_n": None}
    started = [row for row in tried if row.valid]  # each row's check says whether all were started
    stopped = [row for row in tried if row.status != "ok"]
    figures = [_started(name, started) for name in _MANY if any(row.strategy == name for row in started)]
    case = Case(
        tried,
        f"{counted([row.workload['n'] for row in tried])} of each kind, parked",
        values,
        figures or [why_too_little(stopped)],
        f"{units.count(HUNDREDS_OF_THOUSANDS)} and more of a kind start, each kind within {units.duration(EASY_NS)}",
    )
    if (not started and not stopped) or not all(map(shows_a_limit, stopped)):
        return case.undecided()
    could = {row.strategy for row in started} - {row.strategy for row in stopped}
    if started:
        slowest = max(row.measured["start_ns"] for row in started)
        values |= {
            "most": max(row.workload["n"] for row in started),
            "least_n": HUNDREDS_OF_THOUSANDS,
            "slowest_ns": slowest,
            "largest_bytes": max(row.measured["held_rss_bytes"] for row in started),
        }
    if not could:
        return case.decided("does not hold here", f"none did: {why_too_little(stopped)}")
    missing = sorted(set(PARKED) - {row.strategy for row in (*started, *stopped)})
    if missing:
        return case.undecided(f"no valid row of {', '.join(missing)}")
    slow = max(row.measured["start_ns"] for row in started)
    verdict: Word = "holds" if could == set(PARKED) and slow < EASY_NS else "holds differently"
    told = f"the slowest took {units.duration(slow)}" + (f"; {why_too_little(stopped)}" if stopped else "")
    return case.decided(verdict, told, close=Range(slow, slow, slow).is_close_to(EASY_NS))


def _started(name: str, rows: Sequence[Row]) -> str:
    own = [row for row in rows if row.strategy == name]
    most = max(row.workload["n"] for row in own)
    largest = [row for row in own if row.workload["n"] == most]
    time = max(row.measured["start_ns"] for row in largest)
    memory = max(row.measured["held_rss_bytes"] for row in largest)
    return f"{units.count(most)} {_MANY[name]} in {units.duration(time, 2)}, {units.size(memory, 2)}"
