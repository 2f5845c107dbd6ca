"""The decision on the blocks so far: regression, pass or inconclusive. Pure.

``command`` calls ``decided`` after each block; ``result`` is for stored runs. A block gives one value per metric: the
natural logarithm of B over A, with its sign such that B is worse above 0. A *control* has the same work on both sides,
so its values should be 0. A *look* is a number of blocks at which a decision may be made (``rule``). A metric is
*gated* if the verdict depends on it. The unit of analysis is the block, not the request.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from inflight.bench import units
from inflight.bench.ab.rule import DESIGNED, MAX_LOG, Rule, with_looks
from inflight.bench.frame.blocks import SIDES, Block, comparisons, controls_of, series, turned, values
from inflight.bench.frame.statistics import Estimate, mean, t_quantile
from inflight.bench.rows.files import Row

Verdict = Literal["regression", "pass", "inconclusive"]
"""What a comparison says of B."""
EXITS = {"pass": 0, "regression": 1, "inconclusive": 3}
"""Exit code of each verdict."""
Series = Mapping[str, Sequence[float]]
"""The values of each metric or control, one for each block that has it."""

NAMES = {"cpu_per_page": "CPU per page", "throughput": "throughput", "memory": "user memory per fetch"}
"""What metrics are called."""
REPEATING = frozenset({"memory"})
"""Metrics that come in steps (pages of 4 KiB), so that values may repeat exactly; those of clocks do not."""
STILL = 1e-9
"""Values within this range do not vary: it is below the resolution of clocks."""
MIN_FAILED_BLOCKS, MIN_FAILED_SHARE = 3, 0.5
"""Minimum number of failed blocks, and minimum share of the blocks tried, that end the run."""
MAX_FAILED_SHARE = 0.05
"""Maximum share of failed blocks with which B passes."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one metric or control over the blocks, in logarithms of B over A: B is worse above 0."""

    metric: str
    """Name of the metric or of the control."""
    mean: Estimate
    """Mean of the values of all blocks, with its error."""
    upper: float
    """The one-sided bound that decides a pass."""

    @property
    def estimate(self) -> float:
        """The mean of the values."""
        return self.mean.value

    @property
    def sd(self) -> float:
        """The standard deviation of the values."""
        return self.mean.error * math.sqrt(self.mean.n)

    @property
    def p(self) -> float:
        """The p of the one-sided t test of "the mean is at most 0"."""
        return self.mean.p / 2 if self.estimate > 0 else 1 - self.mean.p / 2

    @property
    def change(self) -> str:
        """The change as text."""
        return units.change(turned(self.metric, self.estimate))

    @property
    def interval(self) -> str:
        """The 95 % interval as text."""
        ends = self.mean.interval()
        return units.change_between(turned(self.metric, ends.low), turned(self.metric, ends.high))


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on the blocks so far."""

    verdict: Verdict
    final: bool
    """No more blocks are needed."""
    why: str
    """The reason, as a clause."""
    effects: tuple[Effect, ...]
    """Effects of the gated metrics whose values allow one."""
    controls: tuple[Effect, ...]
    """Effects of the controls."""
    look: int | None
    """1-based; None between looks."""
    blocks: int
    """Number of blocks with values."""
    scope: str = ""
    """The words " in this run" for two strategies: what differs between runs is in none of the figures."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The blocks that were tried, by outcome."""

    good: tuple[Block, ...]
    """Those with values."""
    failed_a: int
    """Number of blocks in which A failed, alone or with B."""
    failed_b: int
    """Number of blocks in which only B failed."""
    dropped: int
    """Number of blocks left out on an outside signal: a failed check, independent of which side was faster."""
    reasons: Mapping[str, int]
    """Names of failed checks and reasons of failures, with the number of blocks of each, the most frequent first."""

    @property
    def lost(self) -> int:
        """Number of blocks without values."""
        return self.failed_a + self.failed_b + self.dropped


@dataclass(frozen=True, slots=True)
class Result:
    """A decision with its blocks and its rule."""

    decision: Decision
    blocks: tuple[Block, ...]
    rule: Rule

    @property
    def tally(self) -> Tally:
        """Its blocks by outcome."""
        return tally(self.blocks)


def effects_of(metrics: Series, pass_level: float) -> tuple[Effect, ...]:
    """Return the effects; ``pass_level`` is the chance that ``upper`` is too low. Unusable values have none."""
    usable = {
        metric: mean(values)
        for metric, values in metrics.items()
        if len(values) > 1 and all(map(_is_ratio, values)) and (metric in REPEATING or not _is_still(values))
    }
    return tuple(
        Effect(metric, logs, logs.value + t_quantile(logs.freedom, 1 - pass_level) * logs.error)
        for metric, logs in usable.items()
    )


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
    blocks = max(map(len, gated.values()), default=0)
    tried = blocks + failed_a + failed_b + dropped
    reached = sum(look <= blocks for look in rule.looks)
    is_last = reached == len(rule.looks)
    look = reached if is_last or blocks in rule.looks else None
    level = rule.level(max(1, reached), max(1, len(gated)))
    pass_level = rule.pass_level(max(1, reached))
    effects = effects_of(gated, pass_level)
    moving = effects_of(controls, pass_level)

    def end(verdict: Verdict, why: str, *, final: bool = True) -> Decision:
        """Return a decision with what is known so far; ``final``: no more blocks are needed."""
        return Decision(verdict, final, why, effects, moving, look, blocks)

    if not gated:
        return end("inconclusive", "no metric is gated, so there is nothing to decide")
    if failed_a + failed_b >= max(MIN_FAILED_BLOCKS, MIN_FAILED_SHARE * tried):
        if failed_a == 0:
            return end("regression", f"B failed in {failed_b} of {tried} blocks, A in none")
        return end("inconclusive", f"A failed in {failed_a} of {tried} blocks: B cannot be compared with it")
    for metric, logs in (*gated.items(), *controls.items()):
        if not all(map(_is_ratio, logs)):
            return end("inconclusive", f"{_name(metric)} has a value that is not a ratio of two measurements")
        if look is not None and metric not in REPEATING and len(logs) > 1 and _is_still(logs):
            return end("inconclusive", f"{_name(metric)} has the same value in all blocks: it was not measured")
    if dropped > tried / 2 and (look is not None or tried >= 2 * rule.looks[0]):
        return end("inconclusive", f"{dropped} of {tried} blocks were left out: {dropped_for or 'unknown cause'}")
    if tried >= 2 * rule.looks[-1] and not is_last:
        return end("inconclusive", f"only {blocks} of {tried} blocks are good")
    if look is None and reached == 0:
        return end("inconclusive", f"too few blocks: {blocks} of at least {rule.looks[0]}", final=False)
    if look is None:
        next_look = rule.looks[reached]
        return end("inconclusive", f"{blocks} blocks; the next decision is after {next_look}", final=False)

    first = rule.looks[0]
    if moved := [c for c in moving if c.mean.p < rule.control_alpha and abs(c.estimate) > rule.control_least]:
        return end("inconclusive", f"a control moved: {_names(moved)}", final=is_last)
    if few := [name for name, logs in controls.items() if len(logs) < first]:
        return end("inconclusive", f"too few values of a control: {', '.join(few)}", final=is_last)
    if worse := [each for each in effects if each.mean.n >= first and each.p < level and each.estimate > rule.least]:
        return end("regression", f"B is worse: {_names(worse)}")
    if few := [_name(name) for name, logs in gated.items() if len(logs) < first]:
        return end("inconclusive", f"too few values: {', '.join(few)}", final=is_last)
    waiting = [each for each in effects if not is_last and each.mean.interval().low > 0 and each.estimate > rule.least]
    undecided = [each for each in effects if each.upper >= rule.acceptable or each in waiting]  # a pass waits for both
    if undecided and all(each.sd > rule.max_noise and each.estimate < rule.acceptable for each in undecided):
        return end("inconclusive", f"too noisy: {_names(undecided)}")
    if undecided:
        return end("inconclusive", f"neither regression nor pass: {_names(undecided)}", final=is_last)
    if failed_b > MAX_FAILED_SHARE * tried:
        return end("inconclusive", f"B failed in {failed_b} of {tried} blocks, too often to pass", final=is_last)
    return end("pass", f"B is not more than {units.change_size(rule.acceptable)} worse")


def _name(metric: str) -> str:
    """Return what a metric or a control is called."""
    return NAMES.get(metric, metric)


def _names(effects: Sequence[Effect]) -> str:
    """Return what metrics are called, each with its change."""
    return ", ".join(f"{_name(effect.metric)} {effect.change}" for effect in effects)


def _is_ratio(value: float) -> bool:
    """Return whether a value is the logarithm of a ratio of two measurements."""
    return math.isfinite(value) and abs(value) <= MAX_LOG


def _is_still(values: Sequence[float]) -> bool:
    """Return whether values do not vary."""
    return max(values) - min(values) <= STILL


# On blocks


def tally(blocks: Sequence[Block]) -> Tally:
    """Sort the blocks: good ones, those in which a side failed, and those dropped on an outside signal."""
    lost = [block for block in blocks if not block.good]
    sides = Counter(block.failed for block in lost)
    reasons = Counter(reason for block in lost for reason in block.reasons)
    good = tuple(block for block in blocks if block.good)
    return Tally(good, sides["A"], sides["B"], sides[None], dict(reasons.most_common()))


def decided(blocks: Sequence[Block], rule: Rule) -> Decision:
    """Decide on the blocks so far; B never passes with a wrong answer.

    A good block without a value of any gated metric counts as dropped, so that a run of such blocks ends.
    """
    seen = tally(blocks)
    each = series([values(block) for block in seen.good])
    gated = {str(name): each.get(name, []) for name in (blocks[0].comparison.gated if blocks else ())}
    without = len(seen.good) - max(map(len, gated.values()), default=0) if gated else 0
    why = "no figure of a gated metric" if without > seen.dropped else next(iter(seen.reasons), "")
    controls = series([controls_of(block) for block in seen.good])
    decision = decide(gated, controls, rule, seen.failed_a, seen.failed_b, seen.dropped + without, why)
    if len({block.arm(side).strategy for block in blocks for side in SIDES}) > 1:
        decision = replace(decision, scope=" in this run")
    wrong = sum(any(row.status == "wrong" for row in block.side("B")) for block in blocks)
    if decision.verdict == "pass" and wrong:
        why = f"B gave a wrong answer in {wrong} of {len(blocks)} blocks, so it cannot pass"
        return replace(decision, verdict="inconclusive", why=why)
    return decision


def result(rows: Iterable[Row], stored: Mapping[str, Any] | None = None) -> Result | None:
    """Return the result of the only comparison in the rows; None without any, or with several, as in a self-test.

    ``stored`` is its ``verdict.json``, whose rule and verdict are kept: the run may have ended because of its budget.
    """
    blocks = list(comparisons(rows).values())
    if len(blocks) != 1 or not blocks[0]:
        return None
    try:
        rule = with_looks(tuple((stored or {}).get("looks") or DESIGNED.looks))
    except (ValueError, TypeError):  # the file was edited
        rule = DESIGNED
    decision = decided(blocks[0], rule)
    if stored is not None and stored.get("verdict") in get_args(Verdict):
        decision = replace(decision, verdict=stored["verdict"], why=str(stored.get("why")), final=True)
    return Result(decision, tuple(blocks[0]), rule)
