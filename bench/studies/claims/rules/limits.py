"""The claims on limits: the limit of threads, whether sockets have a higher one, and 10,000 fetches at once. Pure."""

import math
from collections.abc import Callable, Collection, Sequence
from statistics import median

from inflight.bench.core import units
from inflight.bench.rows.bare import LimitFound, LimitMeasured, limit_text
from inflight.bench.rows.crawls import Measured, Memory
from inflight.bench.rows.files import Row
from inflight.bench.studies.claims.rules.evidence import by_strategy, is_absent, of_type, shows_a_limit
from inflight.bench.studies.claims.rules.parts import Part, missing, outcome
from inflight.bench.studies.claims.verdicts import Outcome, Value

TENS_FROM, TENS_TO = 10_000, 100_000
"""Range of "tens of thousands"."""
SAME = 0.01
"""Relative distance within which two ceilings count as equal: other processes change them by that much."""
CLIENTS = 10_000
SOCKETS = ("descriptors", "ports")

NOTHING = LimitMeasured()


def thread_failure(rows: Sequence[Row]) -> Outcome:
    """Judge whether starting threads fails at tens of thousands, by a ramp that ended in a failure."""
    known = [
        row.measured for row in of_type(rows, LimitFound, "threads") if row.valid and row.measured.found is not None
    ]
    said = known[0] if known else NOTHING
    found, later = said.found, said.next
    failed = said.stopped_by == "failure"
    near = [found is not None and abs(found - edge) <= SAME * edge for edge in (TENS_FROM, TENS_TO)]
    ends = None if found is None else False if found >= TENS_TO else True if failed else None
    not_before = None if found is None else found >= TENS_FROM
    parts = [
        Part(
            "threads", ends, _ceiling(said) if known else "", "", f"fail below {units.count(TENS_TO)}", "fail", near[1]
        ),
        Part("threads", not_before, rule=f"reach {units.count(TENS_FROM)}", close=near[0]),
    ]
    values: dict[str, Value] = {
        "found": found,
        "bound_by": limit_text(said.bound_by),
        "next_name": later.name if later else None,
        "next_most": later.most if later else None,
        "remedy": said.remedy,
        "small_found": said.small_stack_found,
    }
    return outcome(rows, parts, values, [f"next: {later.name} at {units.count(later.most)}"] if later else [])


def threads_before_sockets(rows: Sequence[Row]) -> Outcome:
    """Judge whether threads end before descriptors and ports; show how many fetches each strategy held."""
    limits = dict.fromkeys(("threads", *SOCKETS), NOTHING)
    limits |= {row.strategy: row.measured for row in of_type(rows, LimitFound) if row.valid}
    parts = [
        Part(
            name,
            _is_before(limits["threads"], limits[name]),
            rule=f"threads end more than {units.percent(SAME)} before",
            core="first",
            close=_are_near(limits["threads"], limits[name]),
        )
        for name in SOCKETS
    ]
    values: dict[str, Value] = {name: _end(limits[name]) for name in ("threads", *SOCKETS)}
    values |= {f"{name}_by": _by(limits[name]) for name in ("threads", *SOCKETS)}
    held = {
        name: max(row.measured.held_in_flight or 0 for row in own)
        for name, own in by_strategy(row for row in of_type(rows, Memory) if row.valid).items()
    }
    figures = [f"{name}: {_ceiling(limits[name])}" for name in ("threads", *SOCKETS) if limits[name] is not NOTHING]
    figures += [f"held in flight: {', '.join(f'{name} {units.count(n)}' for name, n in held.items())}"] if held else []
    return outcome(rows, parts, values, figures)


def c10k(rows: Sequence[Row]) -> Outcome:
    """Judge whether every strategy holds ten thousand fetches in flight and finishes them."""
    held = [row for row in of_type(rows, Memory) if row.workload.in_flight == CLIENTS and not is_absent(row)]
    uses = {row.workload.connection for row in held}
    parts = [_holds(name, own, uses) for name, own in by_strategy(held).items()]
    able = {part.name for part in parts if part.so}
    good = [row for row in held if row.valid and row.strategy in able]
    unable = [part for part in parts if part.so is False]
    times, sizes = (_medians(good, key) for key in ("reach_ns", "held_uss_bytes"))
    values: dict[str, Value] = {
        "able": len(able),
        "tried": len(parts),
        "unable": ", ".join(part.name for part in unable) or None,
        "limit": unable[0].figure if unable else None,
        "fastest_ns": times[0][0] if times else None,
        "slowest_ns": times[-1][0] if times else None,
        "least_bytes": sizes[0][0] if sizes else None,
        "most_bytes": sizes[-1][0] if sizes else None,
    }
    spans = [_span("reached in", times, units.duration), _span("user memory", sizes, units.size)] if good else []
    figures = [f"{len(able)} of {len(parts)} strategies", *spans] if parts else []
    return outcome(rows, parts, values, figures)


def _holds(name: str, own: Sequence[Memory], uses: Collection[str]) -> Part:
    """Return whether a strategy did it with each use of connections.

    Listen drops do not count against it: the kernel counts them for all processes.
    """
    failed = [row for row in own if _could_not(row)]
    done = {row.workload.connection for row in own if row.valid and not row.measured.listen_drops}
    so = False if failed else True if done == set(uses) else None
    why = str(failed[0].reason or "; ".join(missing(failed)) or "not all pages were fetched") if failed else ""
    return Part(name, so, why, rule=f"holds and finishes {units.count(CLIENTS)}", core="any strategy")


def _could_not(row: Memory) -> bool:
    if row.status == "ok":
        return row.measured.held_in_flight != CLIENTS or bool(row.measured.failed_pages)
    return shows_a_limit(row)


def _medians(rows: Sequence[Memory], key: str) -> list[tuple[float, str]]:
    """Return the medians of a value over the rounds of each strategy and use of connections, in ascending order."""
    groups: dict[tuple[str, str], list[Measured]] = {}
    for row in rows:
        groups.setdefault((row.strategy, row.workload.connection), []).append(row.measured)
    return sorted((median(getattr(said, key) for said in own), name) for (name, _), own in groups.items())


def _span(what: str, medians: Sequence[tuple[float, str]], write: Callable[[float, int], str]) -> str:
    """Write the least and the greatest median with their strategies."""
    ends = [f"{write(size, 3)} ({name})" for size, name in (medians[0], medians[-1])]
    return f"{what}: {' to '.join(ends)}, medians over the rounds"


def _bounds(said: LimitMeasured) -> tuple[float, float] | None:
    """Return the bounds of a ceiling: exact after a failure, else the reached number and infinity."""
    found, predicted = said.found, said.predicted
    if found is not None:
        return found, found if said.stopped_by == "failure" else math.inf
    return None if predicted is None else (predicted, predicted)


def _is_before(threads: LimitMeasured, sockets: LimitMeasured) -> bool | None:
    """Tell whether threads end before sockets; None if that is unknown."""
    one, other = _bounds(threads), _bounds(sockets)
    if one is None or other is None:
        return None
    if one[1] < other[0] * (1 - SAME):
        return True
    return False if other[1] < one[0] * (1 - SAME) else None


def _are_near(threads: LimitMeasured, sockets: LimitMeasured) -> bool:
    """Tell whether two ceilings are within 10 % of each other, so that their order may change."""
    one, other = _bounds(threads), _bounds(sockets)
    return one is not None and other is not None and abs(one[0] - other[0]) <= 10 * SAME * max(one[0], other[0])


def _end(said: LimitMeasured) -> int | None:
    """Return the ceiling of a resource: that of a failure, else the greater of the predicted and the reached one."""
    if said.stopped_by == "failure" and said.found is not None:
        return int(said.found)
    return max((end for end in (said.found, said.predicted) if end is not None), default=None)


def _by(said: LimitMeasured) -> str | None:
    return limit_text(said.bound_by or said.predicted_by)


def _ceiling(said: LimitMeasured) -> str:
    """Return the ceiling of a resource with its limit, and the number that was reached."""
    found, predicted = said.found, said.predicted
    if said.stopped_by == "failure" and found is not None:
        return f"{units.count(found)} ({_by(said)})"
    reached = "" if found is None else f"{units.count(found)} reached, stopped by {said.stopped_by}"
    expected = "" if predicted is None else f"{units.count(predicted)} predicted ({limit_text(said.predicted_by)})"
    return ", ".join(filter(None, [expected, reached])) or "unknown"
