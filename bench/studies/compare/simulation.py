"""How often the rule of ``decide`` ends in each verdict, in real and in simulated decisions. Pure.

Series are an array of shape (series, blocks, metrics): the values of each block as ``decide`` takes them, in the order
of measuring. All series are computed at once.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from inflight.bench.frame.statistics import CONFIDENCE, t_quantile
from inflight.bench.studies.compare.decide import Decision, decide
from inflight.bench.studies.compare.effect import sign_flip_ps
from inflight.bench.studies.compare.rule import DESIGNED, Rule

if TYPE_CHECKING:
    from numpy import bool_, float64
    from numpy.typing import NDArray

    Series = NDArray[float64]
    Mask = NDArray[bool_]

RUNS = 1000
"""Number of simulated decisions; the standard error of a rate of 90 % is then 0.9 %."""
SEED = 20260101
PRECISION = 0.004
"""Precision of a smallest effect, as a share of the interval that is searched."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The verdicts of many decisions, and their mean number of blocks."""

    alarms: int
    """Verdicts "regression": false alarms if A and B are the same code, detections if a slowdown was planted."""
    passes: int
    inconclusive: int
    decisions: int
    mean_blocks: float
    """0 without decisions."""

    @property
    def share_found(self) -> float:
        """The share of verdicts "regression"; 0 without decisions."""
        return self.alarms / self.decisions if self.decisions else 0.0


@dataclass(frozen=True, slots=True)
class Smallest:
    """The smallest true slowdown that is found with some probability, and what limits it."""

    effect: float
    """A logarithm."""
    limited_by: Literal["least", "pass", "noise"]
    """Why most of the others are missed. "least": they are significant, but estimated as too small for a regression.
    "pass": an earlier look rules out ``Rule.acceptable``. "noise": no look decides."""


def real(blocks: Sequence[Mapping[str, float]], controls: Collection[str], rule: Rule = DESIGNED) -> Counts:
    """Count the verdicts of consecutive decisions on blocks in the order of measuring; no two share a block.

    A block maps metrics and controls to values. Blocks at the end that reach no final decision are not counted.
    """
    decisions: list[Decision] = []
    start = 0
    while start < len(blocks) and (found := _walk(blocks[start:], controls, rule)).final:
        decisions.append(found)
        start += max(1, found.blocks)
    verdicts, number = [one.verdict for one in decisions], len(decisions)
    return Counts(
        alarms=verdicts.count("regression"),
        passes=verdicts.count("pass"),
        inconclusive=verdicts.count("inconclusive"),
        decisions=number,
        mean_blocks=sum(one.blocks for one in decisions) / number if number else 0.0,
    )


def _walk(blocks: Sequence[Mapping[str, float]], controls: Collection[str], rule: Rule) -> Decision:
    """Decide at each look until a decision is final or the blocks are used up."""
    names = dict.fromkeys(name for block in blocks[: rule.looks[-1]] for name in block)
    for look in rule.looks:
        values = {name: [block[name] for block in blocks[:look] if name in block] for name in names}
        gated = {name: found for name, found in values.items() if name not in controls}
        decision = decide(gated, {name: found for name, found in values.items() if name in controls}, rule)
        if decision.final or look >= len(blocks):
            break
    return decision


def rate_bounds(alarms: int, decisions: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return one-sided lower and upper bounds of a rate (Clopper and Pearson, 1934); 0 and 1 without decisions."""
    from scipy.stats import binomtest

    if not decisions:
        return 0.0, 1.0
    low, high = (
        binomtest(alarms, decisions, alternative=side).proportion_ci(confidence, method="exact")
        for side in ("greater", "less")
    )
    return float(low.low), float(high.high)


def resampled(
    blocks: Sequence[Mapping[str, float]],
    controls: Collection[str] = (),
    rule: Rule = DESIGNED,
    runs: int = RUNS,
) -> Counts:
    """Apply the rule to measured blocks, drawn with replacement; no decisions with fewer blocks than the first look.

    Metrics and controls of a block stay together. Rates have no bounds, because the decisions share blocks. Blocks that
    lack a metric which others have are left out.
    """
    import numpy as np

    names = sorted({name for block in blocks for name in block}, key=lambda name: (name in controls, name))
    whole = [[block[name] for name in names] for block in blocks if len(block) == len(names)]
    if len(whole) < rule.looks[0]:
        return Counts(0, 0, 0, 0, 0.0)
    draw = np.random.default_rng(SEED)
    series = np.asarray(whole)[draw.integers(len(whole), size=(runs, rule.looks[-1]))]
    gated = len([name for name in names if name not in controls])
    steps = [rule.steps.get(name, 0.0) for name in names[:gated]]
    return play(series[..., :gated], rule, series[..., gated:], steps)


@lru_cache(maxsize=256)
def smallest_found(sd: float, rule: Rule = DESIGNED, metrics: int = 1, share: float | None = None) -> Smallest:
    """Return the smallest true slowdown of one of ``metrics`` gated metrics that the rule finds in a share of cases.

    ``share`` is ``rule.power`` unless given. All sizes are tried on the same random numbers, so the answer changes
    smoothly with noise and rule.
    """
    from scipy.optimize import brentq

    wanted = rule.power if share is None else share
    noise = _noise(RUNS, rule.looks[-1], metrics)

    def counts(effect: float, rule: Rule = rule) -> Counts:
        return play(_worse_by(effect, sd, noise), rule)

    high = 2 * rule.least + sd
    while counts(high).share_found < wanted:
        high *= 2
    found = float(brentq(lambda effect: counts(effect).share_found - wanted, 0.0, high, xtol=PRECISION * high))
    there = counts(found)
    missed, missed_by_noise = 1 - there.share_found, 1 - counts(found, replace(rule, least=0.0)).share_found
    if missed_by_noise < missed / 2:
        return Smallest(found, "least")
    return Smallest(found, "pass" if there.passes > there.inconclusive else "noise")


def play(gated: "Series", rule: Rule, controls: "Series | None" = None, steps: Sequence[float] = ()) -> Counts:
    """Count the verdicts on series as long as the last look. ``steps`` has the step of each metric (``Rule.steps``)."""
    import numpy as np

    runs, _, metrics = gated.shape
    is_open = np.ones(runs, dtype=bool)
    verdicts, blocks = {"regression": 0, "pass": 0, "inconclusive": 0}, 0
    for look, size in enumerate(rule.looks, start=1):
        seen = gated[is_open, :size]
        worse, passed, too_noisy = _at_a_look(seen, rule, look, rule.level(look, metrics), steps)
        if controls is not None and controls.size:
            quiet = ~_moved(controls[is_open, :size], rule)
            worse, passed, too_noisy = worse & quiet, passed & quiet, too_noisy & quiet
        passed, too_noisy = passed & ~worse, too_noisy & ~worse
        ended = worse | passed | too_noisy if look < len(rule.looks) else np.ones(len(seen), dtype=bool)
        verdicts["regression"] += int(worse.sum())
        verdicts["pass"] += int(passed.sum())
        verdicts["inconclusive"] += int((ended & ~worse & ~passed).sum())
        blocks += size * int(ended.sum())
        is_open[np.flatnonzero(is_open)[ended]] = False
    return Counts(verdicts["regression"], verdicts["pass"], verdicts["inconclusive"], runs, blocks / runs)


def _at_a_look(
    seen: "Series", rule: Rule, look: int, level: float, steps: Sequence[float]
) -> "tuple[Mask, Mask, Mask]":
    """Return for each series whether a metric is worse, whether all pass, and whether noise ends it."""
    import numpy as np

    size = seen.shape[1]
    mean, sd = _moments(seen, steps)
    error = sd / np.sqrt(size)
    significant = (mean > t_quantile(size - 1, 1 - level) * error) & (mean > rule.least)
    if size >= rule.sign_flip_from:
        for metric in range(seen.shape[2]):
            where = significant[:, metric].nonzero()[0]
            significant[where, metric] = sign_flip_ps(seen[where, :, metric], level) < level
    upper = mean + t_quantile(size - 1, 1 - rule.pass_level(look)) * error
    not_passed = upper >= rule.acceptable
    if look < len(rule.looks):  # what looks worse waits for more blocks
        not_passed |= (mean > rule.least) & (mean > t_quantile(size - 1, (1 + CONFIDENCE) / 2) * error)
    hopeless = (sd > rule.most_noise) & (mean < rule.acceptable)
    return significant.any(axis=1), ~not_passed.any(axis=1), (hopeless | ~not_passed).all(axis=1)


def _moved(seen: "Series", rule: Rule) -> "Mask":
    """Return for each series whether a control moved."""
    import numpy as np

    size = seen.shape[1]
    mean, sd = _moments(seen, ())
    limit = np.maximum(rule.control_least, t_quantile(size - 1, 1 - rule.control_alpha / 2) * sd / np.sqrt(size))
    moved: Mask = (np.abs(mean) > limit).any(axis=1)
    return moved


def _moments(seen: "Series", steps: Sequence[float]) -> "tuple[Series, Series]":
    """Return mean and SD over the blocks; the SD of values in steps is at least that of rounding."""
    import numpy as np

    sd: Series = seen.std(axis=1, ddof=1)
    if len(steps):
        sd = np.maximum(sd, np.asarray(steps) / np.sqrt(12))
    mean: Series = seen.mean(axis=1)
    return mean, sd


def _worse_by(effect: float, sd: float, noise: "Series") -> "Series":
    series: Series = sd * noise
    series[..., 0] += effect
    return series


@lru_cache(maxsize=8)
def _noise(runs: int, blocks: int, metrics: int) -> "Series":
    import numpy as np

    drawn: Series = np.random.default_rng(SEED).standard_normal((runs, blocks, metrics))
    drawn.flags.writeable = False  # it is shared
    return drawn
