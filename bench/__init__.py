"""The harness: it knows nothing of the strategies but their contract, and nothing of the server but its port.

The straight line, one small function a step::

    experiment.toml --load--> Experiment --expand--> [Trial] --run_trial--> Row --append--> rows.jsonl
    rows.jsonl --read--> [Row] --summarise--> Summary --> table | plots | report.html

``core.experiment`` and ``core.plan`` say what is to be run, ``measure.run`` runs it; ``report`` sees nothing but rows.
``cli`` is the way in for people, ``load`` and ``run`` are for programs::

    from bench import load, run

    results = run("quick", strategies=["callbacks", "thread_pool"], rounds=3)
    results = load("results/20261120T101500000Z-laptop-quick")
"""

from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.api import Results

__all__ = ["load", "run"]


def load(folder: "str | PathLike[str]") -> "Results":
    """Read a stored run; see ``bench.api.load``."""
    from bench import api

    return api.load(folder)


def run(experiment: "str | PathLike[str]" = "quick", **options: Any) -> "Results":
    """Run an experiment and return its results; see ``bench.api.run``."""
    from bench import api

    return api.run(experiment, **options)
