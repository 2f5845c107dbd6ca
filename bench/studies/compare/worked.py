"""One verdict of a stored comparison, number by number, as docs/method.md shows it.

::

    python -m bench.studies.compare.worked [--docs docs/method.md] [--runs results/reference] [--check]

The comparison is the newest ``ab`` in the folder of runs that ended as a regression. The part stands between the marks
``<!-- verdict: begin -->`` and ``<!-- verdict: end -->``. With ``--check`` nothing is written, and the exit code is 1
when the file is not what would be written.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.analyse.decide import DESIGNED, Decision, Effect
from bench.analyse.effect import LEAST_P, amount, percent
from bench.core.stats import t_quantile
from bench.present import readme, section, units
from bench.present.section import Section
from bench.present.text_grid import Grid
from bench.rows import ROWS_FILE, RowsError
from bench.studies.compare import read, show
from bench.studies.compare.read import Block

METRIC = "cpu_per_page"
MARKS = ("<!-- verdict: begin -->", "<!-- verdict: end -->")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit code."""
    told = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m bench.studies.compare.worked", description=told)
    parser.add_argument("--docs", type=Path, default=Path("docs/method.md"), help="the file with the marks")
    parser.add_argument("--runs", type=Path, default=readme.REFERENCE, help="the folder of the runs")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the file is not up to date")
    chosen = parser.parse_args(arguments)
    try:
        old = chosen.docs.read_text(encoding="utf-8")
        new = readme.replaced(old, part(newest(chosen.runs)), chosen.docs.name, MARKS)
        if not chosen.check:
            chosen.docs.write_text(new, encoding="utf-8")
        elif old != new:
            raise readme.ReadmeError(f"{chosen.docs} is not up to date; run `make readme`")
    except (readme.ReadmeError, RowsError) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def newest(runs: Path) -> Path:
    """Return the newest comparison that ended as a regression. Raises ReadmeError when there is none."""
    for folder in sorted((path.parent for path in runs.glob(f"*-ab/{ROWS_FILE}")), reverse=True):
        if read.decided(read.blocks(readme.reference(folder)[0]), DESIGNED).verdict == "regression":
            return folder
    raise readme.ReadmeError(f"no comparison in {runs} ended as a regression; store one that `inflight ab` made")


def part(folder: Path) -> str:
    """Return how the comparison was made, the verdict as it was printed, and where each of its numbers comes from."""
    rows, machine = readme.reference(folder)
    blocks = read.blocks(rows)
    decision = read.decided(blocks, DESIGNED)
    printed = show.text(show.Shown(decision, blocks, DESIGNED, None), colour=False)
    made = section.markdown(explained(blocks, decision))
    return "\n\n".join([readme.provenance(rows, machine), f"```text\n{printed}\n```", made])


def explained(blocks: Sequence[Block], decision: Decision) -> Section:
    """Return the section that follows the CPU time per page from the first good block to the verdict."""
    good = [block for block in blocks if block.good]
    (effect,) = (one for one in decision.effects if one.metric == METRIC)
    lines = [*_of_block(good[0]), *_over_blocks(good, effect), *_held_against(decision, effect)]
    return Section("", (Grid("", ("number", "here", "where it comes from"), tuple(lines)),))


def _of_block(block: Block) -> list[tuple[str, str, str]]:
    a, again, b = (block.arms[role].measured for role in ("reference", "placebo", "compared"))
    kept = [window for window in a["windows"] if window["kept"]]
    cpu_ns, pages = (sum(window[key] for window in kept) for key in ("cpu_ns", "pages"))
    told = [units.duration(one["cpu_per_page_ns"], 4) for one in (a, again, b)]
    sums = f"{units.duration(cpu_ns, 4)} of CPU time in {len(kept)} windows, over {units.count(round(pages))} pages"
    value = read.values(block)[METRIC]
    return [
        (f"A in block {block.number}", told[0], sums),
        ("A again", told[1], "the same code in another process, in the windows beside those of A"),
        ("B", told[2], "likewise"),
        ("value of the block", percent(value), "ln(B) - (ln(A) + ln(A again)) / 2, written as a change"),
    ]


def _over_blocks(good: Sequence[Block], effect: Effect) -> list[tuple[str, str, str]]:
    values = [read.values(block)[METRIC] for block in good]
    n, error = effect.blocks, effect.sd / math.sqrt(effect.blocks)
    ends = f"{percent(effect.low).removesuffix(' %')} to {percent(effect.high)}"
    times = units.number(t_quantile(n - 1, 0.975), 3)
    between = f"{percent(min(values)).removesuffix(' %')} to {percent(max(values))}"
    return [
        (f"values of all {n} blocks", between, "the unit of analysis: one value a block"),
        ("change", percent(effect.estimate), "the mean of the values, written as a change"),
        ("SD of a block", amount(effect.sd), "the standard deviation of the values"),
        ("standard error", amount(error), f"SD / sqrt({n})"),
        ("95 % interval", ends, f"mean ± {times} standard errors: Student's t with {n - 1} degrees of freedom"),
    ]


def _held_against(decision: Decision, effect: Effect) -> list[tuple[str, str, str]]:
    rule, look = DESIGNED, decision.look or len(DESIGNED.looks)
    gated = len(decision.effects)
    level, pass_level = rule.level(look, gated), rule.pass_level(look)
    p = units.number(effect.p, 2) if effect.p >= LEAST_P else f"below {LEAST_P:f}".rstrip("0")
    t = effect.estimate * math.sqrt(effect.blocks) / effect.sd
    share = rule.shares[look - 1]
    spent = f"{100 * rule.alpha:g} % for the whole comparison x {share:g} for look {look} / {gated} gated metrics"
    (control,) = (one for one in decision.controls if read.CONTROLS[one.metric] == METRIC)
    ends = f"{percent(control.low).removesuffix(' %')} to {percent(control.high)}"
    return [
        ("t", units.number(t, 3), "mean / standard error"),
        ("p", p, "one-sided: the chance of such a t, or a larger one, without a change"),
        ("level", units.number(level, 2), spent),
        ("least", amount(rule.least), "a smaller change is no regression, however sure it is"),
        ("control", percent(control.estimate), f"A again against A, over the blocks; 95 %: {ends}"),
        (
            "bound of a pass",
            percent(effect.upper),
            f"the upper bound of {100 * (1 - pass_level):g} %; a pass needs it below 5 %",
        ),
        (
            "verdict",
            show.WORDS[decision.verdict],
            "p is below the level, the change above the least, and no control moved",
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
