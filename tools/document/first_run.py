"""What `make run` prints, for docs/first-run.md: the tables of the newest ``quick``, and its plot."""

from pathlib import Path

from inflight.bench.present import section
from inflight.bench.report import markdown
from inflight.bench.studies.memory.show import grids
from inflight.bench.studies.throughput import show
from tools.document.stored import joined, newest


def part(runs: Path, beside: Path) -> str:
    """Return the tables of the newest ``quick``, and its plot of throughput."""
    run = newest(runs, "quick")
    memory = map(section.table_markdown, grids(run.rows)[:1])
    picture = run.picture("throughput", "Pages per second over fetches in flight", beside)
    return joined(markdown.headline(run.rows, run.machine, show.sections(run.rows)), *memory, picture)
