"""Explain the numbers of a verdict of a stored comparison, for docs/verdicts.md."""

import math
from collections.abc import Sequence
from pathlib import Path

from inflight.bench.core import units
from inflight.bench.frame.statistics import t_quantile
from inflight.bench.plan.arm import Role
from inflight.bench.present import section
from inflight.bench.present.section import Section
from inflight.bench.present.table import Table
from inflight.bench.studies.compare import read, show
from inflight.bench.studies.compare.decide import Decision
from inflight.bench.studies.compare.effect import LEAST_P, Effect
from inflight.bench.studies.compare.read import Block
from inflight.bench.studies.compare.rule import DESIGNED
from tools.document.stored import DocumentError, Run, folders, joined, run

METRIC = "cpu_per_page"
_ROLES: tuple[Role, ...] = ("reference", "placebo", "compared")


def part(runs: Path, _beside: Path) -> str:
    """Return the provenance of the comparison, the verdict as it was printed, and the source of each number."""
    shown = regression(runs)
    result = read.result(shown.rows)
    assert result is not None
    told = section.markdown(explained(result.tally.good, result.decision))
    return joined(shown.provenance, f"```text\n{show.text(result).plain}\n```", told)


def regression(runs: Path) -> Run:
    """Return the newest comparison that ended as a regression. Raises DocumentError if there is none."""
    for folder in reversed(folders(runs, "ab")):
        found = run(folder)
        if read.decided(read.blocks(found.rows), DESIGNED).verdict == "regression":
            return found
    raise DocumentError(f"no comparison in {runs} ended as a regression; store one that `inflight ab` made")


def explained(good: Sequence[Block], decision: Decision) -> Section:
    """Return a section on the CPU time per page, from the first good block to the verdict."""
    (effect,) = (one for one in decision.effects if one.metric == METRIC)
    lines = [*_of_block(good[0]), *_over_blocks(good, effect), *_tests(decision, effect)]
    return Section("", (Table("", ("number", "here", "where it comes from"), tuple(lines)),))


def _of_block(block: Block) -> list[tuple[str, str, str]]:
    a, again, b = (block.arms[role].measured for role in _ROLES)
    windows = a.windows or ()
    cpu_ns, pages = sum(window.cpu_ns for window in windows), sum(window.pages for window in windows)
    told = [units.duration(one.cpu_per_page_ns or 0, 4) for one in (a, again, b)]
    sums = f"{units.duration(cpu_ns, 4)} of CPU time in {len(windows)} windows, over {units.count(round(pages))} pages"
    value = read.values(block)[METRIC]
    return [
        (f"A in block {block.number}", told[0], sums),
        ("A again", told[1], "the same code in another process, whose windows alternate with those of A"),
        ("B", told[2], "measured in the same way"),
        ("value of the block", units.change(value), "ln(B) - (ln(A) + ln(A again)) / 2, written as a change"),
    ]


def _over_blocks(good: Sequence[Block], effect: Effect) -> list[tuple[str, str, str]]:
    values = [read.values(block)[METRIC] for block in good]
    n, error = effect.blocks, effect.sd / math.sqrt(effect.blocks)
    ends = effect.interval
    times = units.number(t_quantile(n - 1, 0.975), 3)
    between = units.change_between(min(values), max(values))
    return [
        (f"values of all {n} blocks", between, "the unit of analysis: one value per block"),
        ("change", units.change(effect.estimate), "the mean of the values, written as a change"),
        ("SD of a block", units.change_size(effect.sd), "the standard deviation of the values"),
        ("standard error", units.change_size(error), f"SD / sqrt({n})"),
        ("95 % interval", ends, f"mean ± {times} standard errors: Student's t with {n - 1} degrees of freedom"),
    ]


def _tests(decision: Decision, effect: Effect) -> list[tuple[str, str, str]]:
    rule, look = DESIGNED, decision.look or len(DESIGNED.looks)
    gated = len(decision.effects)
    level, pass_level = rule.level(look, gated), rule.pass_level(look)
    p = units.number(effect.p, 2) if effect.p >= LEAST_P else f"below {LEAST_P:f}".rstrip("0")
    t = effect.estimate * math.sqrt(effect.blocks) / effect.sd
    share = rule.shares[look - 1]
    spent = f"{100 * rule.alpha:g} % for the whole comparison x {share:g} for look {look} / {gated} gated metrics"
    (control,) = (one for one in decision.controls if read.CONTROLS[one.metric] == METRIC)
    ends = control.interval
    return [
        ("t", units.number(t, 3), "mean / standard error"),
        ("p", p, "one-sided: the chance of such a t or a larger one without a change"),
        ("limit", units.number(level, 2), spent),
        ("minimum", units.change_size(rule.least), "a smaller change is not a regression, even if it is significant"),
        ("control", units.change(control.estimate), f"A again against A, over the blocks; 95 %: {ends}"),
        (
            "bound of a pass",
            units.change(effect.upper),
            f"the upper bound of {100 * (1 - pass_level):g} %; a pass needs it below 5 %",
        ),
        (
            "verdict",
            decision.verdict.upper(),
            "p is below the limit, the change above the minimum, and no control moved",
        ),
    ]
