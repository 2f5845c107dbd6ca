"""What swarms say, in a sentence without its full stop: the titles of their plots, and the answer. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from bench.core import units
from bench.core.figures import Spread
from bench.core.rows import Row
from bench.present import words
from bench.studies.swarm.read import Cost, Swarm, cost, settings, swarms
from bench.studies.swarm.read_row import held, late, lost, reach_ns, reach_per_s

MOST_NAMES = 4
"""So many strategies are named in one sentence."""
MOST_LOST = 3


def answer(rows: Sequence[Row]) -> Iterator[str]:
    """Say how many fetches were in flight at once, what one takes, and who was lost; nothing without a swarm."""
    every = swarms(rows)
    found = [swarm for swarm in every if swarm.setting == settings(every)[0]]
    for some in by_size(found)[:2]:
        if any(map(is_held, some)):
            yield of_reach(some)
    costs = costs_of(found)
    if told := of_cost(costs):
        yield told
    if gone := losses(every):
        more = f"; {units.count(len(gone) - MOST_LOST)} more" if len(gone) > MOST_LOST else ""
        yield f"not all lived, or came in time: {'; '.join(gone[:MOST_LOST])}{more}"


def losses(found: Sequence[Swarm]) -> list[str]:
    """Say who was lost, and who came late, of which strategy."""
    return [
        words.plain(f"{name(swarm.strategy)}: {sentence}", 160)
        for swarm in found
        for row in swarm.rows
        for sentence in (*lost(row), *late(row))
    ]


def by_size(found: Sequence[Swarm]) -> list[list[Swarm]]:
    """Return the swarms to be shown beside each other: those of each size that is somebody's largest, ramps left out.

    The size with the most strategies comes first; a strategy is part of every size at which it was tried.
    """
    plain = [swarm for swarm in found if swarm.ramp_per_s is None]
    known = {swarm.strategy for swarm in plain}
    plain += [swarm for swarm in found if swarm.strategy not in known]
    largest = {max(own.asked for own in plain if own.strategy == swarm.strategy) for swarm in plain}
    groups = [[swarm for swarm in plain if swarm.asked == asked] for asked in largest]
    return sorted(groups, key=lambda own: (-len(own), -own[0].asked))


def costs_of(found: Sequence[Swarm]) -> dict[str, Cost]:
    """Return what a fetch of each strategy takes, the cheapest first; those with an unknown layer last."""
    costs = {name: cost(s for s in found if s.strategy == name) for name in dict.fromkeys(s.strategy for s in found)}
    known = {name: one for name, one in costs.items() if one is not None}
    return dict(sorted(known.items(), key=lambda item: (item[1].full is None, item[1].full or 0, item[0])))


def is_held(swarm: Swarm) -> bool:
    """Tell whether a valid trial held as many as the machine allows of what was asked for."""
    return swarm.valid and swarm.of(reach_ns) is not None


def of_reach(some: Sequence[Swarm]) -> str:
    """Say of the swarms of one size how soon they held it, and who was stopped before by what."""
    asked = f"{units.count(some[0].asked)} fetches in flight at once"
    good = sorted(filter(is_held, some), key=lambda swarm: (_reach(swarm).median, swarm.strategy))
    whole = [f"{name(swarm.strategy)} in {duration(_reach(swarm))}" for swarm in good if swarm.bound is None]
    stopped = [f"{name(swarm.strategy)} {_stopped(swarm)}" for swarm in good if swarm.bound is not None]
    if not good:
        return f"{asked}: no valid trial, so nothing to conclude"
    if len(whole) > MOST_NAMES:
        whole = [*whole[:MOST_NAMES], f"{len(whole) - MOST_NAMES} more"]
    parts = [words.listed(whole) if whole else "not held", *stopped[:MOST_NAMES]]
    return f"{asked}: {'; '.join(parts)}"


def of_one(swarm: Swarm, one: Cost | None) -> str:
    """Say of a single strategy how many it held, how soon, and what that took."""
    if not is_held(swarm):
        return f"{name(swarm.strategy)}, {units.count(swarm.asked)} in flight: no valid trial, so nothing to conclude"
    reached = swarm.of(held)
    assert reached is not None, "a swarm that reached its number held some"
    number, per_s = round(reached.median), swarm.of(reach_per_s)
    rate = "" if per_s is None else f", {units.number(per_s.median, 2)} more each second"
    each = ""
    if one is not None and one.full is not None:
        each = f"; {size(one)} each, {units.size(one.full * number, _digits(one))} in all"
    bound = "" if swarm.bound is None else f" (stopped by {words.plain(swarm.bound.name, 40)})"
    held_all = f"{units.count(number)} fetches in flight at once{bound}"
    return f"{held_all} with {name(swarm.strategy)}, after {duration(_reach(swarm))}{rate}{each}"


def of_cost(costs: Mapping[str, Cost]) -> str:
    """Say what one more fetch takes with the cheapest strategy and with the dearest; empty where that is unknown."""
    known = [(name(strategy), one) for strategy, one in costs.items() if one.full is not None]
    if not known:
        return ""
    (cheap, least), (dear, most) = known[0], known[-1]
    if cheap == dear:
        whole = f"a fetch in flight takes {size(least)} at both ends with {cheap}"
        return f"{whole}, of which {_own(least)} are the client's own"
    sizes = f"{size(least)} with {cheap} and {size(most)} with {dear}"
    return f"a fetch in flight takes {sizes} at both ends, of which {_own(least)} and {_own(most)} are the client's own"


def size(one: Cost) -> str:
    """Write what a fetch takes in all layers: of one size with fewer digits than of a slope; a dash where unknown."""
    return "-" if one.full is None else units.size(one.full, _digits(one))


def duration(spread: Spread) -> str:
    """Write a duration with the digits that its rounds leave."""
    return units.duration(spread.median, words.digits(spread))


def name(strategy: str) -> str:
    """Return a strategy's name as it is shown."""
    return words.plain(strategy, 18)


def _digits(one: Cost) -> int:
    return 2 if one.slope is None else 3


def _own(one: Cost) -> str:
    size = one.layers["client user"]
    assert size is not None, "where all layers are known, each one is"
    return units.size(size, _digits(one))


def _reach(swarm: Swarm) -> Spread:
    found = swarm.of(reach_ns)
    assert found is not None, "only swarms that reached their number are asked"
    return found


def _stopped(swarm: Swarm) -> str:
    reached, bound = swarm.of(held), swarm.bound
    assert reached is not None, "a swarm that was stopped held some"
    assert bound is not None, "only swarms that were stopped are asked"
    return f"stopped at {units.count(round(reached.median))} ({words.plain(bound.name, 40)})"
