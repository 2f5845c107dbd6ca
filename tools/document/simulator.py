"""The simulator of the newest run of ``quick``: a page of its own, and what docs/simulator.md quotes of it."""

from pathlib import Path

from inflight.bench.present.markdown import escaped
from inflight.bench.present.section import folded, table_markdown
from inflight.bench.report import provenance
from inflight.bench.studies.simulator import page, show
from inflight.bench.studies.simulator.read import USUAL_IN_FLIGHT, Simulated, simulated
from tools.document.stored import DocumentError, Run, joined, newest

EXPERIMENT = "quick"


def whole(runs: Path) -> str:
    """Return the page: one HTML file that loads nothing."""
    run = newest(runs, EXPERIMENT)
    shown = page.fragment(run.rows)
    if shown is None:
        raise _nothing(run)
    return page.page(shown, f"The costs are from this run: {provenance.source(run.rows, run.machine)}")


def part(runs: Path, _beside: Path) -> str:
    """Return the prediction at the start setting, and how far it is from the measured cells."""
    run = newest(runs, EXPERIMENT)
    found = _simulated(run)
    load = page.start_load(found)
    told = [*show.sentences(found.models, load, USUAL_IN_FLIGHT), *show.checked(found)]
    sentences = "\n".join(f"- {escaped(sentence)}" for sentence in told)
    errors = show.errors(found)
    every = folded("Every measured point with its error", table_markdown(errors)) if errors else ""
    return joined(run.provenance, table_markdown(show.table(found, load)), sentences, every)


def _simulated(run: Run) -> Simulated:
    found = simulated(run.rows)
    if found is None:
        raise _nothing(run)
    return found


def _nothing(run: Run) -> DocumentError:
    return DocumentError(f"{run.folder} does not have the CPU time per page of two models at no added latency")
