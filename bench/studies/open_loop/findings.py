"""What open loops say, one sentence a curve: the highest rate that was kept, why no more, what waiting hides. Pure.

Only valid trials count; a quantile needs the samples that ``bench.studies.open_loop.read`` asks for.
"""

from collections.abc import Sequence

from bench.core import units
from bench.core.figures import Spread
from bench.present import words
from bench.studies.open_loop.read import PREFIX, UNTOLD, Curve, Place, Point, Quantile

MOST_CURVES = 3
"""So many places are told of in one title; the others are counted."""
QUANTILES: dict[Quantile, str] = {"p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9"}
"""As they are written."""
_TELLING: tuple[Quantile, ...] = ("p99", "p50")
"""The quantile that a sentence compares: the first that has samples enough."""


def rate(per_s: float) -> str:
    """Write a rate that was asked for, with all its digits: ``2,000``."""
    return units.number_tick(per_s)


def time(shown: Spread) -> str:
    """Write a time with the digits that its rounds leave."""
    return units.duration(shown.median, words.digits(shown))


def names(curves: Sequence[Curve]) -> list[str]:
    """Name the place of each curve, with the number of users or of its site where that alone tells two apart."""
    places = [curve.place for curve in curves]
    found = []
    for number, place in enumerate(places, start=1):
        alike = [one for one in places if _bare(one) == _bare(place)]
        users = len({one.users for one in alike}) > 1
        sites = len({one.site for one in alike if one.users == place.users}) > 1
        more = (f", {place.users} users" if users else "") + (f", place {number}" if sites else "")
        found.append(_bare(place) + more)
    return found


def of_curves(curves: Sequence[Curve]) -> str:
    """Say the finding of them all: the sentence of a single one, else the highest rate of each."""
    if len(curves) == 1:
        return of_curve(curves[0])
    texts = []
    for curve, name in zip(curves, names(curves), strict=True):
        most = curve.highest_kept
        told = "none" if most is None else f"{rate(most.rate_per_s)}/s"
        texts.append(f"{told} {'against' if curve.place.target is not None else 'with'} {name}")
    more = f"; {len(texts) - MOST_CURVES} more are in the table" if len(texts) > MOST_CURVES else ""
    return f"The highest rate that was kept: {words.listed(texts[:MOST_CURVES])}{more}"


def answer(found: Sequence[Curve]) -> str:
    """Say the finding of them all, and of several what waiting hides at the first of them."""
    hidden = "" if len(found) == 1 else _omission(found[0])
    where = f"{'against' if found[0].place.target is not None else 'with'} {names(found)[0]}"
    return f"{of_curves(found)}; {where}, {hidden}" if hidden else of_curves(found)


def of_curve(curve: Curve) -> str:
    """Say up to which rate it was kept, why not beyond, and what the uncorrected time leaves out."""
    return "; ".join(filter(None, [_ceiling(curve), _omission(curve)]))


def of_backlog(curve: Curve) -> str:
    """Say at which rate the requests that are due pile up, and where they do not."""
    lost, kept = curve.lowest_lost, curve.highest_kept
    steady = "" if kept is None else f"at {rate(kept.rate_per_s)}/s it does not"
    if lost is None:
        return (
            f"Up to {rate(kept.rate_per_s)} requests/s the backlog does not keep growing" if kept else _nothing(curve)
        )
    waiting = lost.waiting
    if waiting is not None and waiting.median < 1:  # there were users to spare: what is owed piles up in flight
        return f"At {rate(lost.rate_per_s)} requests/s none waits to be sent, and yet answers fall behind"
    many = "" if waiting is None else f" to {units.number(waiting.median)}"
    return "; ".join(filter(None, [f"At {rate(lost.rate_per_s)} requests/s the backlog grows{many}", steady]))


def not_kept(point: Point) -> str:
    """Say why a rate was not kept, and in how many of its rounds."""
    part = f" (in {point.lost_rounds} of {len(point.shown)} rounds)" if point.lost_rounds < len(point.shown) else ""
    why = words.plain(point.why or "the backlog grew", 160) + part
    return why if why.startswith(UNTOLD) else f"{PREFIX}: {why}"


def _ceiling(curve: Curve) -> str:
    kept, lost = curve.highest_kept, curve.lowest_lost
    if lost is None:
        return f"Every rate up to {rate(kept.rate_per_s)} requests/s was kept" if kept else _nothing(curve)
    why = words.plain((lost.why or "the backlog grew").rpartition("; ")[2], 110)  # who was full, where that is known
    if curve.kept_beyond:
        beyond = rate(curve.kept_beyond[-1].rate_per_s)
        return f"{rate(lost.rate_per_s)} requests/s were not kept, though {beyond}/s were ({why})"
    if kept is None:
        return f"Not even {rate(lost.rate_per_s)} requests/s could be kept ({why})"
    return f"From {rate(lost.rate_per_s)} requests/s on the rate cannot be kept ({why})"


def _omission(curve: Curve) -> str:
    """Compare corrected and uncorrected at the highest rate that was kept, else at the lowest that was not."""
    point = curve.highest_kept or curve.lowest_lost
    if point is None:
        return ""
    for quantile in _TELLING:
        corrected, uncorrected = point.time("corrected", quantile), point.time("uncorrected", quantile)
        if corrected is None or uncorrected is None:
            continue
        told, hidden = time(corrected), time(uncorrected)
        where = f"at {rate(point.rate_per_s)}/s"
        if told == hidden:
            return f"{where} corrected and uncorrected {quantile} are both {told}"
        return f"{where} the corrected {quantile} is {told} where the uncorrected says {hidden}"
    return ""


def _nothing(curve: Curve) -> str:
    return f"No valid trial of an open loop among {sum(len(point.rows) for point in curve.points)}: nothing to conclude"


def _bare(place: Place) -> str:
    if place.target is not None:
        return words.plain(place.target, 60)
    latency = units.latency(str(place.latency))
    return latency if place.latency == "0" else f"{latency} added latency"
