"""A side-by-side benchmark of Python concurrency models: the same crawl of the same site in each model.

``bench`` is the harness, ``strategies`` are the models that it compares, ``fake_server`` is the site that they crawl,
and ``conformance`` tests a model. In a checkout they are folders at its top, with links to them here. For programs and
notebooks::

    from inflight import load, run

    results = run("quick", strategies=["callbacks", "thread_pool"], rounds=3)
    results = load("results/20261120T101500000Z-laptop-quick")
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from os import PathLike

    from inflight.bench.api import Results

__all__ = ["load", "run"]


def load(folder: "str | PathLike[str]") -> "Results":
    """Read a stored run; see ``inflight.bench.api.load``."""
    from inflight.bench import api

    return api.load(folder)


def run(experiment: "str | PathLike[str]" = "quick", **options: Any) -> "Results":
    """Run an experiment and return its results; see ``inflight.bench.api.run``."""
    from inflight.bench import api

    return api.run(experiment, **options)
