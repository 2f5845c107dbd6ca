"""The parts of README.md."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from inflight.bench.core.rows import SELFTEST_FILE, Row
from inflight.bench.present import section
from inflight.bench.present.markdown import escaped
from inflight.bench.present.section import Section
from inflight.bench.report import markdown
from inflight.bench.studies.decision_map import show as map_table
from inflight.bench.studies.interpreters import show as versions
from inflight.bench.studies.memory.show import grids
from inflight.bench.studies.scaling import show as cores
from inflight.bench.studies.selftest import show
from inflight.bench.studies.throughput import show as throughput
from tools.document import claims
from tools.document.stored import DocumentError, Run, joined, newest


def headline(runs: Path, beside: Path) -> str:
    """Return the tables of the newest ``quick``, and its plot of throughput."""
    run = newest(runs, "quick")
    memory = map(section.table_markdown, grids(run.rows)[:1])
    picture = run.picture("throughput", "Throughput over fetches in flight", beside)
    told = markdown.headline(run.rows, run.machine, throughput.sections(run.rows))
    return joined(told, *memory, picture)


def decision_map(runs: Path, beside: Path) -> str:
    """Return the finding of the decision map, how it was made, and its plot."""
    return _finding(newest(runs, "map"), map_table.sections, "map", "The decision map", beside)


def interpreters(runs: Path, beside: Path) -> str:
    """Return the finding of the newest run of several interpreters, how it was made, and its plot."""
    run = newest(runs, "interpreters")
    return _finding(run, versions.sections, "interpreters", "CPU time per page on each interpreter", beside)


def scaling(runs: Path, beside: Path) -> str:
    """Return which models use a second core, by the newest run of scaling, how it was made, and its plot."""
    run = newest(runs, "scaling")
    return _finding(run, cores.sections, "scaling", "Speed-up on two cores over the CPU work per page", beside)


def _finding(
    run: Run, sections: Callable[[Sequence[Row]], Sequence[Section]], plot: str, words_for_it: str, beside: Path
) -> str:
    found = sections(run.rows)
    if not found:
        raise DocumentError(f"{run.folder} has no rows for the plot {plot!r}")
    return joined(run.provenance, f"**{escaped(found[0].title)}.**", run.picture(plot, words_for_it, beside))


def memory(runs: Path, beside: Path) -> str:
    """Return the plot of the layers, and how it was made."""
    run = newest(runs, "memory")
    return joined(run.provenance, run.picture("layers", "Memory per task, in layers", beside))


def claims_table(runs: Path, beside: Path) -> str:
    """Return the table of verdicts, how it was made, and its plot."""
    run = newest(runs, "claims")
    table = claims.table(claims.report(run.folder))
    return joined(run.provenance, table, run.picture("claims", "The claims and their verdicts", beside))


def selftest(runs: Path, beside: Path) -> str:
    """Return what a self-test found, as it printed it, how it was made, and its plot."""
    run = newest(runs, "selftest")
    path = run.folder / SELFTEST_FILE
    try:
        told = show.text(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError) as error:
        raise DocumentError(f"{path} does not hold a self-test: {error}") from error
    picture = run.picture("selftest", "Blocks without a change, and with planted slowdowns", beside)
    return joined(run.provenance, f"```text\n{told}\n```", picture)
