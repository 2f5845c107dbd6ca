"""Which model to choose for a workload, and the figures to expect, from the frame of a run. Pure.

``inflight advise`` (``commands.advise``) calls ``costs_near`` to find a run, ``advise``, and ``verify`` after it has
measured; ``show`` writes the result. With N fetches in flight, added latency L, CPU work w per page and the model's own
CPU time c per page, a model fetches X = min(N / (L + c + w), 1 / (c + w)) pages per second
(``inflight.bench.frame.statistics``, which explains the *knee*, too). X is computed for each block in which c was
measured, so that models are compared within blocks. A workload that the run measured needs no X.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from pandas import DataFrame

from inflight.bench.frame.contrast import contrast, records, summary
from inflight.bench.frame.statistics import bound_per_s, knee

MIN_TURN_NS = 1_000_000
"""Minimum duration of a fetch for the formula: shorter ones depend on the time of server and network, about 0.1 ms,
which the formula leaves out."""
NEAR = 2.0
"""Maximum factor between the wanted number in flight and that of the measured CPU time per page."""
PLAIN = "kind == 'arm' and valid and stack == 'shared' and role != 'placebo' and arm == strategy and comparison == ''"
"""Query for the lines of strategies as they are, in blocks of experiments."""


class Wanted(NamedTuple):
    """The workload to advise on; ``work_ns``: CPU work per page; ``near``: at about which number c is taken."""

    latency: str
    """The added latency as text, such as ``80ms``."""
    latency_ns: float
    """Its mean."""
    work_ns: int
    in_flight: int
    near: int


def costs_near(lines: DataFrame, site: Mapping[str, Any], in_flight: int) -> DataFrame:
    """Return the CPU time per page, without latency and CPU work, at the nearest number in flight; may be empty."""
    counted = _plain(lines, site, "cpu_per_page_ns")
    counted = counted[(counted["latency_ns"] == 0) & (counted["cpu_ns"] == 0)]
    counted = _in_two_blocks(counted[counted["in_flight"].between(in_flight / NEAR, in_flight * NEAR)])
    nearest = min(counted["in_flight"].unique(), key=lambda number: abs(math.log(number / in_flight)), default=0)
    return counted[counted["in_flight"] == nearest]


def _plain(lines: DataFrame, site: Mapping[str, Any], figure: str) -> DataFrame:
    """Return the lines of plain strategies in blocks on pages like those of ``site``."""
    plain = lines.query(f"{PLAIN} and connection == 'keep-alive' and figure == '{figure}'")
    return plain[plain["site"].map(lambda text: json.loads(text).items() >= site.items()).astype(bool)]


def _in_two_blocks(lines: DataFrame) -> DataFrame:
    """Return the lines of strategies that were measured in two blocks or more."""
    return lines[lines.groupby(["in_flight", "strategy"])["unit"].transform("nunique") > 1]


def advise(lines: DataFrame, site: Mapping[str, Any], wanted: Wanted, lengths: Mapping[str, int]) -> dict[str, Any]:
    """Return the advice and the figures of each model, the fastest first, as JSON values (docs/decisions.md).

    Of models that are surely equally fast, the one with the shortest program is advised; ``lengths`` are those of the
    programs. There is no advice if a model neither differs from the fastest nor is surely the same.
    """
    costs = costs_near(lines[lines["strategy"].isin(lengths)], site, wanted.near)
    if costs.empty:
        return {"models": []}
    costs = costs.assign(value=costs["value"] + wanted.work_ns)
    rates = _plain(lines[lines["strategy"].isin(costs["strategy"])], site, "pages_per_s")
    rates = rates[(rates["latency"] == wanted.latency) & (rates["cpu_ns"] == wanted.work_ns)]
    rates = _in_two_blocks(rates[rates["in_flight"] == wanted.in_flight])
    is_measured = set(rates["strategy"]) == set(costs["strategy"])
    if not is_measured:
        bounds = [bound_per_s(wanted.in_flight, wanted.latency_ns, cost) for cost in costs["value"]]
        rates = costs.assign(figure="pages_per_s", value=bounds, spread=None)
    means = summary(rates, ["strategy"]).merge(summary(costs, ["strategy"]), on="strategy", suffixes=("", "_cpu"))
    means = means.sort_values(["estimate", "strategy"], ascending=[False, True])
    unstable = set(rates.loc[rates["is_unstable"], "strategy"])
    first = next((name for name in means["strategy"] if name not in unstable), means["strategy"].iloc[0])
    against = contrast(rates, "strategy", first, ["figure"])
    answers = dict(zip(against["strategy"], against["answer"], strict=True))
    models = [_model(mean, answers.get(mean.strategy), wanted) for mean in records(means)]
    alike = [name for name in means["strategy"] if answers.get(name) not in {"differs", "unstable"}]
    tied = [name for name in alike if answers.get(name) == "unknown"]
    is_short = wanted.latency_ns + models[0]["cpu_per_page_ns"][0] < MIN_TURN_NS
    advised: str | None = None
    if is_short and not is_measured and wanted.in_flight < 2 * models[0]["knee"]:
        why = "fetches are so short here that the unknown time of server and network matters"
    elif tied:
        why = f"statistically tied with the fastest ({first}): {', '.join(tied)}"
    else:
        advised = min(alike, key=lambda name: lengths[name])
        why = "it is the fastest"
        if len(alike) > 1:
            why = f"of {len(alike)} that are equally fast, it has the shortest program"
    return {
        "advised": advised,
        "why": why,
        "alike": alike,
        "measured": is_measured,
        "models": models,
        "run_in_flight": int(costs["in_flight"].iloc[0]),
    }


def _model(mean: Any, answer: str | None, wanted: Wanted) -> dict[str, Any]:
    """Return the figures of a model as JSON values; times in nanoseconds, ends of 95 % intervals in lists of three."""
    least = knee(wanted.latency_ns, mean.estimate_cpu)
    return {
        "strategy": mean.strategy,
        "against_fastest": answer,
        "pages_per_s": _ends(mean.estimate, mean.low, mean.high),
        "limit": "CPU" if wanted.in_flight >= least else "latency",
        "knee": least,
        "cpu_per_page_ns": _ends(mean.estimate_cpu, mean.low_cpu, mean.high_cpu),
        "core_share": min(1.0, mean.estimate * mean.estimate_cpu / 1e9),
    }


def _ends(*ends: float) -> list[float | None]:
    """Return the ends of an interval for JSON; null where they are unknown."""
    return [end if math.isfinite(end) else None for end in ends]


def verify(lines: DataFrame, chosen: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how far off the expected figures are, and whether the choice holds: no other model is surely faster."""
    rates = lines.query("figure == 'pages_per_s' and valid and role != 'placebo'")
    means = {mean.strategy: mean for mean in records(summary(rates, ["strategy"]))}
    models = []
    for model in chosen:
        name = model["strategy"]
        expected = model["pages_per_s"][0]
        mean = means.get(name)
        measured = None
        off = None
        if mean is not None:
            measured = _ends(mean.estimate, mean.low, mean.high)
            off = (measured[0] or 0) / expected - 1
        models.append(
            {
                "strategy": name,
                "expected_pages_per_s": expected,
                "measured_pages_per_s": measured,
                "off": off,
            }
        )
    off = max(abs(model["off"]) for model in models) if len(means) == len(models) else None
    against = contrast(rates, "strategy", chosen[0]["strategy"], ["figure"])
    is_beaten = ((against["answer"] == "differs") & (against["estimate"] > 1)).any()
    return {"off": off, "holds": off is not None and not is_beaten, "models": models}
