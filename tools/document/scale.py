"""What docs/scale.md quotes of the runs c100k and c1m, and one sentence of it for README.md."""

from functools import partial
from pathlib import Path

from inflight.bench.core import units
from inflight.bench.present.markdown import escaped
from inflight.bench.present.section import table_markdown
from inflight.bench.studies.swarm import read
from inflight.bench.studies.swarm.show import sections
from tools.document.stored import DocumentError, Run, joined, newest

RUNS = ("c100k", "c1m")
"""The experiments, and the names of their marks."""
PICTURES = {"swarm": "Fetches in flight over time", "swarm_memory": "Memory per fetch in flight, in layers"}


def in_full(experiment: str, runs: Path, beside: Path) -> str:
    """Return the sentences, tables and plots of the newest run of an experiment."""
    run = newest(runs, experiment)
    tables = [table_markdown(table) for section in sections(run.rows) for table in section.tables]
    return joined(findings(run), *tables, *(run.picture(name, told, beside) for name, told in PICTURES.items()))


c100k, c1m = (partial(in_full, name) for name in RUNS)


def in_short(runs: Path) -> str:
    """State the largest number that one strategy held in the runs, and how long it took. Raises DocumentError."""
    rows = [row for name in RUNS for row in newest(runs, name).rows]
    found = [
        (swarm.asked, -time.median, swarm.strategy)
        for swarm in read.swarms(rows)
        if swarm.valid and swarm.bound is None and (time := swarm.of(read.reach_ns))
    ]
    if not found:
        raise DocumentError(f"no swarm in {runs} held all that was asked for: there is nothing to quote")
    most, time_ns, strategy = max(found)
    return f"{units.count(most)} in {units.duration(-time_ns, 2)}, with {strategy} in many processes"


def findings(run: Run) -> str:
    """Return how a run was made, and what it says in a few sentences."""
    if not any(row.valid for row in run.rows):
        raise DocumentError(f"{run.folder} holds no valid swarm: there is nothing to quote")
    titles = [section.title for section in sections(run.rows) if section.title]
    return joined(run.provenance, "\n".join(f"- {escaped(title)}." for title in titles))
