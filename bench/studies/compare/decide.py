"""The decision rule of ``inflight ab``: from the blocks so far to regression, pass or inconclusive. Pure.

A block gives one value per metric: the natural logarithm of B over A, with its sign such that B is worse above 0. A
control has the same work on both sides, so its values should be 0. The unit of analysis is the block, not the request.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from inflight.bench.core import units
from inflight.bench.studies.compare.effect import Effect, bound, effect, listed, named, p_text, sign_flip_p, told
from inflight.bench.studies.compare.rule import DESIGNED, MOST, Rule

Verdict = Literal["regression", "pass", "inconclusive"]
Series = Mapping[str, Sequence[float]]

STILL = 1e-9
"""Values within this range do not vary: it is below the resolution of clocks."""
LOAD = frozenset({"", "no listen drops"})
"""Checks that fail because of other programs on the machine; the empty name is an unknown signal."""
FAILED_BLOCKS = 3
FAILED_SHARE = 0.5
"""Minimum number of failed blocks, and minimum share of the blocks tried, that end the run."""
FAILED_SHARE_OF_A_PASS = 0.05
"""Maximum share of failed blocks with which B passes."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on the blocks so far."""

    verdict: Verdict
    final: bool
    """No more blocks are needed."""
    why: str
    effects: tuple[Effect, ...]
    """Effects of the gated metrics whose values allow one."""
    controls: tuple[Effect, ...]
    look: int | None
    """1-based; None between looks."""
    blocks: int


@dataclass(frozen=True, slots=True)
class _Seen:
    gated: Series
    controls: Series
    rule: Rule
    failed_a: int
    failed_b: int
    dropped: int
    dropped_for: str

    @property
    def blocks(self) -> int:
        return max((len(values) for values in self.gated.values()), default=0)

    @property
    def tried(self) -> int:
        return self.blocks + self.failed_a + self.failed_b + self.dropped

    @property
    def look(self) -> int | None:
        """The number of this look, from 1; with more blocks than the last look needs, the last look."""
        looks = self.rule.looks
        if self.blocks >= looks[-1]:
            return len(looks)
        return looks.index(self.blocks) + 1 if self.blocks in looks else None

    @property
    def next_look(self) -> int | None:
        return next((look for look in self.rule.looks if look > self.blocks), None)

    @property
    def place(self) -> str:
        return f"after {self.blocks} of at most {max(self.blocks, self.rule.looks[-1])} blocks"

    @property
    def lost(self) -> str:
        """The blocks without values, as text for every verdict."""
        failed = (("A", self.failed_a), ("B", self.failed_b))
        parts = [self.side_failed(side, number) for side, number in failed if number]
        parts += [f"left out on an outside signal: {self.dropped} of {self.tried} blocks"] if self.dropped else []
        return "".join(f"; {part}" for part in parts)

    def side_failed(self, side: str, number: int) -> str:
        return f"{side} failed in {number} of {self.tried} blocks"


_Said = tuple[Verdict, bool, str]
"""The verdict, whether it is final, and the reason."""


def decide(
    gated: Series,
    controls: Series,
    rule: Rule = DESIGNED,
    failed_a: int = 0,
    failed_b: int = 0,
    dropped: int = 0,
    dropped_for: str = "",
) -> Decision:
    """Decide on the values of each gated metric and of each control; never raises, whatever the values.

    A metric may have fewer values than there are blocks. ``failed_a`` counts the blocks without values because A
    failed, alone or with B; ``failed_b`` those in which only B failed; ``dropped`` those left out on an outside signal,
    of which ``dropped_for`` is the most frequent.

    Nothing is tested between looks, so frequent calls do not add false alarms.
    """
    seen = _Seen(gated, controls, rule, failed_a, failed_b, dropped, dropped_for)
    reached = max(1, sum(look <= seen.blocks for look in rule.looks))
    level, pass_level = rule.level(reached, max(1, len(gated))), rule.pass_level(reached)
    effects, control_effects = _effects(gated, pass_level, rule), _effects(controls, pass_level, rule)
    said = _no_metric(seen) or _failed(seen) or _unusable(seen) or _under_load(seen) or _not_yet(seen)
    if said is None:
        effects = tuple(_with_sign_flip(one, gated[one.metric], level, rule) for one in effects)
        said = _at_a_look(seen, effects, control_effects, level)
    return Decision(*said, effects, control_effects, seen.look, seen.blocks)


# Before any test


def _no_metric(seen: _Seen) -> _Said | None:
    return None if seen.gated else ("inconclusive", True, "no metric is gated, so there is nothing to decide")


def _failed(seen: _Seen) -> _Said | None:
    """End a run in which at least three blocks failed, and at least half of those tried."""
    failed = seen.failed_a + seen.failed_b
    if failed < FAILED_BLOCKS or failed < FAILED_SHARE * seen.tried:
        return None
    if seen.failed_a == 0:
        return "regression", True, f"{seen.side_failed('B', seen.failed_b)}, A in none"
    b = f", B alone in {seen.failed_b}" if seen.failed_b else ""
    return "inconclusive", True, f"{seen.side_failed('A', seen.failed_a)}{b}: B cannot be compared with it"


def _unusable(seen: _Seen) -> _Said | None:
    for metric, values in (*seen.gated.items(), *seen.controls.items()):
        if not all(map(_is_ratio, values)):
            return "inconclusive", True, f"{named(metric)} has a value that is not a ratio of two measurements"
        if seen.look is not None and metric not in seen.rule.steps and len(values) > 1 and _is_still(values):
            why = f"{named(metric)} has the same value in all of {len(values)} blocks"
            return "inconclusive", True, f"{why}: identical figures are not a measurement"
    return None


def _under_load(seen: _Seen) -> _Said | None:
    """End a run that loses its blocks: most were dropped at a look, or after twice the blocks of the first look."""
    if seen.dropped > seen.tried / 2 and (seen.look is not None or seen.tried >= 2 * seen.rule.looks[0]):
        lost = f"{seen.dropped} of {seen.tried} blocks were left out on an outside signal"
        if seen.dropped_for in LOAD:
            return "inconclusive", True, f"machine under load: {lost}; close other programs and run again"
        return "inconclusive", True, f"{lost}, mostly for {seen.dropped_for!r}"
    if seen.tried >= 2 * seen.rule.looks[-1] and seen.blocks < seen.rule.looks[-1]:
        return "inconclusive", True, f"only {seen.blocks} of {seen.tried} blocks are good{seen.lost}"
    return None


def _not_yet(seen: _Seen) -> _Said | None:
    if seen.look is not None:
        return None
    if seen.next_look == seen.rule.looks[0]:
        return "inconclusive", False, f"too few blocks: {seen.blocks} of at least {seen.next_look}{seen.lost}"
    why = f"{seen.blocks} blocks; the next decision is after {seen.next_look}{seen.lost}"
    return "inconclusive", False, why


# At a look


def _at_a_look(seen: _Seen, effects: Sequence[Effect], controls: Sequence[Effect], level: float) -> _Said:
    rule, last = seen.rule, seen.next_look is None
    worse = _regressions(effects, level, rule)
    moved, unknown = [one for one in controls if _has_moved(one, rule)], _short(seen.controls, rule)
    open_ones = [one for one in effects if one.upper >= rule.acceptable or (_looks_worse(one, rule) and not last)]

    if moved or unknown:
        why = f"a control moved ({listed(moved)})" if moved else f"too few values of a control: {', '.join(unknown)}"
        cause = f", so the cause of the change of {listed(worse)} is unknown" if worse else ""
        return _undecided(seen, why + cause, final=last)
    if worse:
        return "regression", True, f"B is worse {seen.place}: {_significant(worse, level)}{seen.lost}"
    if short := _short(seen.gated, rule):
        why = f"{', '.join(short)} of the {rule.looks[0]} values that a decision needs"
        return _undecided(seen, why, final=last)
    if not open_ones:
        if seen.failed_b > FAILED_SHARE_OF_A_PASS * seen.tried:
            return _undecided(seen, "no metric is worse, but B failed too often to pass", final=last)
        return "pass", True, f"{_passed(effects, rule)} {seen.place}{seen.lost}"
    if all(one.sd > rule.most_noise and one.estimate < rule.acceptable for one in open_ones):
        noise = ", ".join(f"{named(one.metric)} {units.change_size(one.sd)}" for one in open_ones)
        most = f"{rule.looks[-1]} blocks allow at most {units.change_size(rule.most_noise)}"
        return _undecided(seen, f"too noisy: SD of blocks: {noise}; {most}", final=True)
    return _undecided(seen, f"neither regression nor pass: {'; '.join(map(told, open_ones))}", final=last)


def _regressions(effects: Sequence[Effect], level: float, rule: Rule) -> list[Effect]:
    """Return the metrics that are worse: significant, above the least effect, and by the sign-flip test if needed."""
    return [
        one
        for one in effects
        if one.blocks >= rule.looks[0]
        and _is_significant(one, level, rule)
        and (one.sign_flip_p is None or one.sign_flip_p < level)
    ]


def _short(metrics: Series, rule: Rule) -> list[str]:
    return [f"{named(name)} has only {len(values)}" for name, values in metrics.items() if len(values) < rule.looks[0]]


def _significant(worse: Sequence[Effect], level: float) -> str:
    """Write changes with their intervals and p values."""
    flipped = ("" if one.sign_flip_p is None else f", sign-flip {p_text(one.sign_flip_p)}" for one in worse)
    limit = f" (limit {units.number(level, 2)})"
    return "; ".join(f"{told(one)}, {p_text(one.p)}{also}{limit}" for one, also in zip(worse, flipped, strict=True))


def _passed(effects: Sequence[Effect], rule: Rule) -> str:
    """Write what a pass rules out, and which metrics are better, by their 95 % intervals and more than the least."""
    highest = max(effects, key=lambda one: one.upper)
    most = bound(highest.metric, highest.upper)
    better = [one for one in effects if one.high < 0 and one.estimate < -rule.least]
    also = f"better ({listed(better)}), and " if better else ""
    return f"B is {also}not more than {units.change_size(rule.acceptable)} worse (plausible: {most})"


def _undecided(seen: _Seen, why: str, final: bool) -> _Said:
    more = "" if final or seen.next_look is None else f"; the next decision is after {seen.next_look} blocks"
    return "inconclusive", final, f"{why}; {seen.place}{seen.lost}{more}"


def _is_significant(one: Effect, level: float, rule: Rule) -> bool:
    return one.p < level and one.estimate > rule.least


def _looks_worse(one: Effect, rule: Rule) -> bool:
    """Tell whether a metric may be a regression that more blocks would show; a pass then waits for the next look."""
    return one.low > 0 and one.estimate > rule.least


def _has_moved(one: Effect, rule: Rule) -> bool:
    return 2 * min(one.p, 1 - one.p) < rule.control_alpha and abs(one.estimate) > rule.control_least


def _with_sign_flip(one: Effect, values: Sequence[float], level: float, rule: Rule) -> Effect:
    """Add the sign-flip test if a regression depends on it."""
    if one.blocks < rule.sign_flip_from or not _is_significant(one, level, rule):
        return one
    return replace(one, sign_flip_p=sign_flip_p(values, level))


def _effects(metrics: Series, pass_level: float, rule: Rule) -> tuple[Effect, ...]:
    return tuple(
        effect(metric, values, pass_level, rule)
        for metric, values in metrics.items()
        if len(values) > 1 and all(map(_is_ratio, values)) and (metric in rule.steps or not _is_still(values))
    )


def _is_ratio(value: float) -> bool:
    return math.isfinite(value) and abs(value) <= MOST


def _is_still(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= STILL
