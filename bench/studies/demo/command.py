"""``inflight demo``: crawl a small site one page at a time, then many at once, and say what the difference is."""

import json
import shutil
import sys

from inflight.bench.commands.output import complain, say, seconds
from inflight.bench.commands.run import experiment_of, interruptible
from inflight.bench.measure import run as runs
from inflight.bench.measure.server import ServerError
from inflight.bench.plan.trials import Trial, estimate_ns
from inflight.bench.present import section
from inflight.bench.rows.files import Row
from inflight.bench.studies.demo import live, show
from inflight.bench.studies.demo.run import crawls, trials

REFUSALS = (runs.RunError, ServerError)
WIDTH = 100
"""Maximum width of the result."""


def run(*, as_json: bool) -> int:
    """Run the demo and print its result; return 0, or 1 if a crawl failed. Nothing is stored."""
    planned = trials()
    for shortage in runs.shortages(planned).values():
        raise runs.RunError(shortage)
    found = _watched(planned)
    for row in found:
        if row.status != "ok":
            complain(f"inflight: {row.strategy} did not fetch all pages: {row.reason}")
            return 1
    if as_json:
        print(json.dumps(show.figures(found)))
        return 0
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns) if sys.stdout.isatty() else WIDTH
    print(section.text(show.section(found), width).plain)
    say(f"\nNext: inflight run quick    compares the models on this machine, in about {_quick()}")
    return 0


def _watched(planned: list[Trial]) -> list[Row]:
    site = planned[0].workload.site
    with (
        interruptible(),
        live.shown({one.strategy: one.workload.in_flight for one in planned}, site.pages) as tell,
    ):
        found = []
        for row in crawls(planned, tell):
            found.append(row)
            if row.status == "ok":
                tell(row.strategy, row.measured.pages, row.measured.makespan_ns)
        return found


def _quick() -> str:
    """Return the estimated time of the preset quick."""
    return seconds(estimate_ns(runs.all_trials(experiment_of("quick"))))
