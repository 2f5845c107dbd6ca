"""The claims on limits: where threads end, whether sockets end later, and ten thousand fetches at once. Pure."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from bench.core import units
from bench.core.rows import Row
from bench.studies.claims.rules.evidence import Case, is_absent, of_kind, shows_a_limit, strategies, why_too_little
from bench.studies.claims.rules.outcome import Outcome, Value, Word

TENS_FROM, TENS_TO = 10_000, 100_000
"""Tens of thousands: from ten to below a hundred of them."""
SAME = 0.01
"""Two ceilings within one percent are the same one: what else runs moves either by that much."""
CLIENTS = 10_000
KINDS_OF_SOCKET_LIMITS = ("descriptors", "ports")

Bounds = tuple[float, float]
"""The least and the most that a ceiling can be, as far as it is known."""


def thread_failure(rows: Sequence[Row]) -> Outcome:
    """Judge whether starting threads fails at tens of thousands, from a ramp that ended in a failure."""
    tried = of_kind(rows, "limit", "threads")
    known = [row.measured for row in tried if row.valid and row.measured.get("found") is not None]
    said: dict[str, Any] = known[0] if known else {}
    found, failed = int(said.get("found", 0)), said.get("stopped_by") == "failure"
    later = said.get("next") or {}
    values: dict[str, Value] = {
        "found": said.get("found"),
        "bound_by": said.get("bound_by"),
        "next_name": later.get("name"),
        "next_most": later.get("most"),
        "remedy": said.get("remedy"),
        "small_found": said.get("small_stack_found"),
    }
    figures = [f"{units.count(found)} threads" + (f", then {said['bound_by']}" if failed else f"; {_stopped(said)}")]
    if later.get("most") is not None:
        figures.append(f"next {later['name']} at {units.count(later['most'])}")
    case = Case(
        tried,
        "threads that wait on a lock, started one after another in one process",
        values,
        figures if known else [],
        f"tens of thousands are {units.count(TENS_FROM)} to below {units.count(TENS_TO)}",
    )
    close = any(abs(found - edge) <= SAME * edge for edge in (TENS_FROM, TENS_TO))
    if found >= TENS_TO:
        return case.decided("does not hold here", "more than that start", close=close)
    if not failed:
        return case.undecided(f"not gone through: {_stopped(said)}" if known else None)
    if found < TENS_FROM:
        return case.decided("holds differently", "it fails before that", close=close)
    return case.decided("holds", f"it failed there, by {said['bound_by']}", close=close)


def threads_before_sockets(rows: Sequence[Row]) -> Outcome:
    """Judge whether threads end before descriptors and ports do; and how many fetches each strategy then held."""
    limits = {row.strategy: row.measured for row in of_kind(rows, "limit") if row.valid}
    values: dict[str, Value] = {name: _shown(limits.get(name)) for name in ("threads", *KINDS_OF_SOCKET_LIMITS)}
    values |= {f"{name}_by": _by(limits.get(name)) for name in ("threads", *KINDS_OF_SOCKET_LIMITS)}
    figures = [_ceiling(name, limits[name]) for name in ("threads", *KINDS_OF_SOCKET_LIMITS) if name in limits]
    figures += _held_by_each(rows)
    case = Case(
        rows,
        "one process, its limits as they are set here; ports from one address to one address and port",
        values,
        figures,
        "threads end first when their ceiling is more than 1 % below those of descriptors and of ports",
    )
    missing = [name for name in ("threads", *KINDS_OF_SOCKET_LIMITS) if _bounds(limits.get(name)) is None]
    if missing:
        return case.undecided(f"no ceiling is known for {missing[0]}")
    orders = {name: _order(limits["threads"], limits[name]) for name in KINDS_OF_SOCKET_LIMITS}
    told = ", ".join(f"{'before' if first else 'after'} {name}" for name, first in orders.items() if first is not None)
    if None in orders.values():
        return case.undecided("the order is not known for all")
    verdict: Word = "holds differently"
    if len(set(orders.values())) == 1:
        verdict = "holds" if orders["ports"] else "does not hold here"
    close = any(_nearly(limits["threads"], limits[name]) for name in KINDS_OF_SOCKET_LIMITS)
    return case.decided(verdict, f"threads end {told}", close=close)


def c10k(rows: Sequence[Row]) -> Outcome:
    """Judge whether every strategy holds ten thousand fetches in flight and finishes them; which cannot, and why."""
    tried = [row for row in of_kind(rows, "memory") if row.workload["in_flight"] == CLIENTS]
    held = [row for row in tried if not is_absent(row)]
    uses = sorted({row.workload["connection"] for row in held})
    can, cannot, unknown = [], {}, {}
    for name in strategies(held):
        own = [row for row in held if row.strategy == name]
        failed = [row for row in own if _could_not(row)]
        sure = {row.workload["connection"] for row in own if row.valid and _finished(row)} == set(uses)
        if failed:
            cannot[name] = str(failed[0].reason or why_too_little(failed))
        elif sure:
            can.append(name)
        else:
            unknown[name] = why_too_little(own)
    good = [row for row in held if row.valid and row.strategy in can]
    values: dict[str, Value] = {
        "able": len(can),
        "tried": len(can) + len(cannot) + len(unknown),
        "unable": ", ".join(cannot) or None,
        "limit": next(iter(cannot.values()), None),
        "fastest_ns": min((row.measured["reach_ns"] for row in good), default=None),
        "slowest_ns": max((row.measured["reach_ns"] for row in good), default=None),
        "least_bytes": min((row.measured["held_uss_bytes"] for row in good), default=None),
        "most_bytes": max((row.measured["held_uss_bytes"] for row in good), default=None),
    }
    figures = [f"{len(can)} of {values['tried']} strategies", *_spans(good)]
    figures += [f"not {name}: {why}" for name, why in cannot.items()]
    case = Case(
        tried,
        f"{units.count(CLIENTS)} fetches in flight in one process, confirmed by the server; {' and '.join(uses)}",
        values,
        figures if held else [],
        f"holds if every strategy held {units.count(CLIENTS)} and finished them with no failure and no listen drop",
    )
    if unknown or not (can or cannot):
        told = ", ".join(f"{name} ({why})" for name, why in unknown.items())
        return case.undecided(f"not known of {told or 'any strategy'}")
    verdict: Word = "holds" if not cannot else "holds differently" if can else "does not hold here"
    absent = strategies(row for row in tried if is_absent(row))
    left_out = f"; not installed: {', '.join(absent)}" if absent else ""
    return case.decided(verdict, f"{_who(can, cannot)}{left_out}")


def _could_not(row: Row) -> bool:
    """Tell whether a row shows that it cannot be done here; listen drops do not, the kernel counts them for all."""
    if row.status == "ok":
        return row.measured["held_in_flight"] != CLIENTS or bool(row.measured["failed_pages"])
    return shows_a_limit(row)


def _finished(row: Row) -> bool:
    said = row.measured
    return said["held_in_flight"] == CLIENTS and not said["failed_pages"] and not said.get("listen_drops")


def _who(can: Sequence[str], cannot: dict[str, str]) -> str:
    parts = [f"{', '.join(can)} did"] if can else []
    return "; ".join(parts + [f"{name} did not ({why})" for name, why in cannot.items()])


def _spans(rows: Sequence[Row]) -> list[str]:
    """Say how long the quickest and the slowest took to reach them, and the least and the most memory: medians."""
    if not rows:
        return []
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row.strategy, row.workload["connection"]), []).append(row.measured)
    said = []
    for key, write, what in (("reach_ns", units.duration, ""), ("held_uss_bytes", units.size, " of user memory")):
        medians = {name: median(found[key] for found in own) for name, own in groups.items()}
        (least, _), (most, _) = (find(medians, key=lambda name: medians[name]) for find in (min, max))
        low, high = (write(find(medians.values()), 2) for find in (min, max))
        said.append(f"{low} ({least}) to {high} ({most}){what}")
    return [f"reached in {said[0]}, medians over the rounds", said[1]]


def _bounds(said: dict[str, object] | None) -> Bounds | None:
    """Return between what a ceiling lies: exact where a failure showed it, else at least what was reached."""
    if said is None:
        return None
    found, predicted = said.get("found"), said.get("predicted")
    if isinstance(found, int):
        return found, found if said.get("stopped_by") == "failure" else math.inf
    return (predicted, predicted) if isinstance(predicted, int) else None


def _order(threads: dict[str, object], sockets: dict[str, object]) -> bool | None:
    """Say whether threads end before, or after; None when that cannot be told."""
    one, other = _bounds(threads), _bounds(sockets)
    assert one is not None
    assert other is not None
    if one[1] < other[0] * (1 - SAME):
        return True
    return False if other[1] < one[0] * (1 - SAME) else None


def _nearly(threads: dict[str, object], sockets: dict[str, object]) -> bool:
    """Tell whether two ceilings lie within 10 % of each other: what else runs, or a setting, may turn them over."""
    one, other = _bounds(threads), _bounds(sockets)
    return one is not None and other is not None and abs(one[0] - other[0]) <= 10 * SAME * max(one[0], other[0])


def _shown(said: dict[str, object] | None) -> int | None:
    """Return where a resource ends: as found by a failure, else as predicted, else at what was reached."""
    if said is None:
        return None
    found, predicted = said.get("found"), said.get("predicted")
    known = [end for end in (found, predicted) if isinstance(end, int)]
    return found if isinstance(found, int) and said.get("stopped_by") == "failure" else max(known, default=None)


def _by(said: dict[str, object] | None) -> str | None:
    name = None if said is None else said.get("bound_by") or said.get("predicted_by")
    return None if name is None else str(name)


def _ceiling(name: str, said: dict[str, object]) -> str:
    shown, by = _shown(said), _by(said)
    if shown is None:
        return f"{name}: unknown"
    named, found = f" ({by})" if by else "", said.get("found")
    if said.get("stopped_by") == "failure":
        return f"{name} end at {units.count(shown)}{named}"
    if shown == found:
        return f"{name} end above {units.count(shown)}"
    reached = f", {units.count(found)} were reached" if isinstance(found, int) else ""
    return f"{name} are predicted to end at {units.count(shown)}{named}{reached}"


def _held_by_each(rows: Sequence[Row]) -> list[str]:
    """Say how many fetches each strategy had in flight at most."""
    most: dict[str, int] = {}
    for row in of_kind(rows, "memory"):
        if row.valid:
            most[row.strategy] = max(most.get(row.strategy, 0), int(row.measured["held_in_flight"]))
    return (
        [f"held in flight: {', '.join(f'{name} {units.count(n)}' for name, n in sorted(most.items()))}"] if most else []
    )


def _stopped(said: dict[str, object]) -> str:
    predicted = said.get("predicted")
    told = (
        f", predicted to end at {units.count(int(str(predicted)))} by {said.get('predicted_by')}" if predicted else ""
    )
    return f"stopped by {said.get('stopped_by')} before anything failed{told}"
