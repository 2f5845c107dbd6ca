"""The simulator: the CPU time per page of each model of a run and its measured points, as the data of a page.

``show.page`` calls ``fragment``. The page has sliders for latency, CPU work and number in flight, and computes the
pages per second that each model can reach (``frame.statistics``: X(N)). The formula for the sliders and all sentences
are in ``templates``; a reader without a script has a table.
"""

import math
from pathlib import Path
from typing import Any

from pandas import DataFrame

from inflight.bench import units
from inflight.bench.frame.contrast import records, summary
from inflight.bench.frame.frame import TIMED
from inflight.bench.frame.statistics import CLEARLY_ABOVE, MARGIN
from inflight.bench.predict.model import Model, models
from inflight.bench.show import html as pages
from inflight.bench.show import words
from inflight.bench.show.html import Fragment
from inflight.bench.show.looks import looks
from inflight.bench.show.table import Table

_TEMPLATE = Path(__file__).with_name("templates") / "simulator"
"""The templates of its part of the page, without their suffixes."""
MAX_SHARE = 1.1
"""Maximum share of a core that a model on one core can show; beyond that it used a second core."""


def simulated(every: DataFrame) -> dict[str, Any] | None:
    """Return the data of the simulator; None without the costs of two models that share a setting.

    Lines are ``with_cycles``.
    """
    lines = every[every["kind"].isin(TIMED)].query("comparison == '' and role != 'placebo'")
    shares = lines[lines["figure"] == "cpu_share"].groupby("arm")["value"].median()
    plain = lines.query("valid and stack != 'none' and cores == 1 and (kind == 'arm' or site_pages >= in_flight)")
    plain = plain[~plain["arm"].isin(shares[shares > MAX_SHARE].index)]
    for _, part in sorted(plain.groupby(["kind", "connection", "site"]), key=lambda item: -len(item[1])):
        many = [model for model in models(part) if model.costs[-1].in_flight > 1]
        if len(many) > 1:
            names = [model.name for model in many]
            return {
                "margin": math.exp(MARGIN),
                "clearly": CLEARLY_ABOVE,
                "models": _models(many),
                "points": _points(part[part["arm"].isin(names)]),
                "left_out": [words.plain(name) for name in sorted(set(lines["arm"]) - set(names))],
            }
    return None


def _points(lines: DataFrame) -> list[list[Any]]:
    """Return arm, latency, CPU work, number in flight, pages per second, and whether that is unstable, of each cell."""
    rates = lines[lines["figure"] == "pages_per_s"]
    by = ["arm", "latency_ns", "cpu_ns", "in_flight"]
    unstable = rates.groupby(by)["is_unstable"].any()
    means = records(summary(rates, by))
    return [[words.plain(mean.arm), *mean[1:5], bool(unstable[mean[:4]])] for mean in means]


def _models(many: list[Model]) -> list[dict[str, Any]]:
    """Return name, look and costs of each model, the cheapest with the most in flight first."""
    known = looks([model.name for model in many])
    described = []
    for model in sorted(many, key=lambda model: model.costs[-1].ns):
        look = known[model.name]
        dashes = () if look.dashes == "-" else look.dashes[1]
        described.append(
            {
                "name": words.plain(model.name),
                "colour": look.number,
                "marker": look.marker,
                "dashes": " ".join(f"{2 * dash:g}" for dash in dashes),
                "costs": [cost[:4] for cost in model.costs],
                "stable": model.stable_up_to,
            }
        )
    return described


def table(data: dict[str, Any]) -> Table:
    """Return the costs from which the page predicts."""
    numbers = sorted({number for model in data["models"] for number, *_ in model["costs"]})
    lines = []
    for model in data["models"]:
        texts = {number: units.duration(cost) for number, cost, *_ in model["costs"]}
        lines.append((model["name"], *(texts.get(number, "-") for number in numbers)))
    heads = ("model", *(f"{units.count(number)} in flight" for number in numbers))
    return Table("CPU time per page, without latency and CPU work", heads, tuple(lines))


def fragment(lines: DataFrame) -> Fragment | None:
    """Return the simulator of a frame; None if it does not have the costs of two models."""
    data = simulated(lines)
    if data is None:
        return None
    return pages.fragment_of(_TEMPLATE, data, table=pages.table(table(data)))
