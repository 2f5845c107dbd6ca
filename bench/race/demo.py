"""``inflight demo``: the race of the README, recorded now in one round and played once; in all, ten seconds.

It runs the crawls of the preset ``race`` one after the other, without a folder: nothing is stored. ``command.show``
plays them. ``commands`` is the module of ``inflight run``, ``runs`` and ``run_trial`` measure.
"""

from msgspec.structs import replace as edited

from inflight import strategies
from inflight.bench.commands.options import QUIET
from inflight.bench.commands.output import complain, put, say
from inflight.bench.commands.run import experiment_of, interruptible
from inflight.bench.measure import host
from inflight.bench.measure.crawl import run_trial
from inflight.bench.measure.run import beside_the_server, plan
from inflight.bench.measure.server import running
from inflight.bench.measure.trial import Setting
from inflight.bench.race.command import PRESET, show
from inflight.bench.race.lanes import races

ALONE_PAGES = 60
"""Pages of a crawl with one fetch in flight, which takes three seconds and does not finish the race."""
REPLAY_S = 3
"""How long the race is played, in seconds."""
WHY = (
    "sequential asks for one page, waits, and asks for the next; the others wait for many at once. "
    f"It gets {ALONE_PAGES} pages."
)
"""What the race shows."""


@QUIET
def run() -> int:
    """See in ten seconds why it pays to wait for many pages at once.

    It records a race on this machine: one page at a time against up to 100 at a time. Then it plays it once. Nothing is
    stored.

    \b
    inflight demo
    """
    # One round of the preset, of the installed strategies. Crawls with one in flight are short, and come last.
    names = [name for name in strategies.models() if not strategies.describe(name).lack]
    experiment = experiment_of(PRESET, names, 1)
    grids = [edited(grid, pages=ALONE_PAGES) if grid.in_flight == (1,) else grid for grid in experiment.crawl]
    trials = plan(edited(experiment, crawl=tuple(grids)))
    trials.sort(key=lambda trial: -trial.workload.in_flight)
    stored = []
    cpus = host.choose_cpus(pin=True)
    with interruptible(), running(cpus.server) as server, beside_the_server(cpus):
        for trial in trials:
            say(f"{trial.name}: {trial.workload.site.pages} pages, {trial.workload.in_flight} in flight ...")
            row = run_trial(trial, server, Setting("demo", cpus))
            if row.status != "ok":
                complain(f"inflight: {row.arm} did not fetch all pages: {row.reason}")
                return 1
            stored.append(row)
    show(races(stored)[0], REPLAY_S)
    put(WHY)
    say("\nNext: inflight run quick    compares the models on this machine")
    return 0
