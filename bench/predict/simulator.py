"""The simulator: the CPU time per page of each model of a run and its measured points, as the data of a page.

``show.page`` calls ``fragment``. The page has sliders for latency, CPU work and number in flight, and computes the
pages per second that each model can reach (``frame.statistics``: X(N)). The formula for the sliders and all sentences
are in ``templates``; a reader without a script has a table.
"""

import math
from pathlib import Path
from string import Template
from typing import Any

from pandas import DataFrame

from inflight.bench import units
from inflight.bench.frame.contrast import records, summary
from inflight.bench.frame.frame import TIMED
from inflight.bench.frame.statistics import MARGIN
from inflight.bench.show import html as pages
from inflight.bench.show import words
from inflight.bench.show.html import Fragment, json_block
from inflight.bench.show.looks import looks
from inflight.bench.show.table import Table

_TEMPLATES = Path(__file__).with_name("templates")
"""Folder of the parts of the page."""
MAX_SHARE = 1.1
"""Maximum share of a core that a model on one core can show; beyond that it used a second core."""


def simulated(every: DataFrame) -> dict[str, Any] | None:
    """Return the data of the simulator of a frame; None without the costs of two models that share a setting."""
    lines = every[every["kind"].isin(TIMED)].query("comparison == '' and role != 'placebo'")
    shares = lines[lines["figure"] == "cpu_share"].groupby("arm")["value"].median()
    plain = lines.query("valid and stack != 'none' and cores == 1 and (kind == 'arm' or site_pages >= in_flight)")
    plain = plain[~plain["arm"].isin(shares[shares > MAX_SHARE].index)]
    for _, part in sorted(plain.groupby(["kind", "connection", "site"]), key=lambda item: -len(item[1])):
        bare = part.query("figure == 'cpu_per_page_ns' and latency_ns == 0 and cpu_ns == 0")
        costs: dict[str, list[Any]] = {}
        for mean in records(summary(bare, ["arm", "in_flight"]).sort_values("in_flight")):
            costs.setdefault(mean.arm, []).append((mean.in_flight, mean.estimate))
        models = {name: points for name, points in costs.items() if points[-1][0] > 1}
        if len(models) > 1:
            rates = part[(part["figure"] == "pages_per_s") & part["arm"].isin(models)]
            points = records(summary(rates, ["arm", "latency_ns", "cpu_ns", "in_flight"]))
            return {
                "margin": math.exp(MARGIN),
                "models": _models(models),
                "points": [[words.plain(mean.arm), *mean[1:5]] for mean in points],
                "left_out": [words.plain(name) for name in sorted(set(lines["arm"]) - set(models))],
            }
    return None


def _models(costs: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return name, look and costs of each model, the cheapest first.

    ``costs``: (number in flight, CPU time per page in ns) without latency and CPU work, in ascending order.
    """
    known = looks(costs)
    models = []
    for name, points in sorted(costs.items(), key=lambda item: item[1][-1][1]):
        look = known[name]
        dashes = () if look.dashes == "-" else look.dashes[1]
        models.append(
            {
                "name": words.plain(name),
                "colour": look.number,
                "marker": look.marker,
                "dashes": " ".join(f"{2 * dash:g}" for dash in dashes),
                "costs": points,
            }
        )
    return models


def table(data: dict[str, Any]) -> Table:
    """Return the costs from which the page predicts."""
    numbers = sorted({number for model in data["models"] for number, _ in model["costs"]})
    lines = []
    for model in data["models"]:
        texts = {number: units.duration(cost) for number, cost in model["costs"]}
        lines.append((model["name"], *(texts.get(number, "-") for number in numbers)))
    heads = ("model", *(f"{units.count(number)} in flight" for number in numbers))
    return Table("CPU time per page, without latency and CPU work", heads, tuple(lines))


def fragment(lines: DataFrame) -> Fragment | None:
    """Return the simulator of a frame; None if it does not have the costs of two models."""
    data = simulated(lines)
    if data is None:
        return None
    html, css, js = (_TEMPLATES.joinpath(f"simulator.{kind}").read_text("utf-8") for kind in ("html", "css", "js"))
    return Fragment(Template(html).substitute(table=pages.table(table(data))), css, js, json_block(data))
