"""Which model to choose for a workload, how many processes and fetches in flight, and what to expect. Pure.

``inflight advise`` (``commands.advise``) calls ``known`` to choose a run, ``advise``, and ``verify`` after it has
measured; ``show`` writes the result. What is expected is X(N) (``model``). Models on one core are compared first; of
those alike, the one that reads best is advised while its memory fits. A pool of processes is advised where they are
limited by their core and it fetches more.
"""

import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from msgspec import Struct
from pandas import DataFrame

from inflight.bench.frame import slopes
from inflight.bench.frame.contrast import contrast, records, summary
from inflight.bench.frame.statistics import knee
from inflight.bench.plan.grid import USUAL_PAGES
from inflight.bench.predict.model import Load, Model, bare, in_turns, models
from inflight.bench.rows.kinds import OVER_TLS

POOL, MEMBER = "process_pool", "native_asyncio"
"""The strategy with a process for each core, and the model that each of these processes is."""
ALIKE = 1.05
"""Rates that differ by a smaller factor are alike: a quiet run cannot tell less, and no smaller difference is worth a
program that is harder to read."""
MEMORY_SHARE = 1 / 4
"""Maximum share of the available memory that all fetches of a model may take, if one that is alike takes less."""
MIN_TURN_NS, SERVER_NS = 1_000_000, 100_000
"""Minimum duration of a fetch below the knee: shorter ones depend on the time of server and network, which the formula
leaves out; and that time on the loopback interface, about."""
_PLAIN = (
    "kind == 'arm' and valid and stack == 'shared' and role != 'placebo' and comparison == '' and arm == strategy "
    f"and (cores > 1) == (strategy == '{POOL}')"
)
"""Query for lines of strategies as they are in blocks: the pool on several cores, the others on one."""

Verdict = Literal["fastest", "faster", "alike", "slower", "unknown", "unstable"]
"""How a model stands beside the fastest on one core, which only a pool of processes can surpass (``faster``).
``unknown``: the run cannot tell whether it is slower."""


class Wanted(NamedTuple):
    """The workload to advise on."""

    load: Load
    in_flight: int
    tls: bool

    @property
    def connection(self) -> str:
        """The use of connections of the costs, as lines have it."""
        return "keep-alive" + (OVER_TLS if self.tls else "")


class Forecast(Struct, frozen=True, kw_only=True):
    """What to expect of a model; durations in ns."""

    strategy: str
    processes: int
    """Processes that carry the load; 0: as many as there are cores, because without latency no number does."""
    in_flight: int
    """Fetches in flight in each of them; more only wait."""
    cores: int
    """How many of the processes have a core on this machine; the figures below are theirs."""
    pages_per_s: tuple[float, float, float]
    """The estimate, and the ends of its range."""
    fetch_ns: float
    """Time of a fetch with all that were asked for in flight: by Little's law N / X."""
    cpu_per_page_ns: float
    knee: float
    is_full: bool
    """Whether the core is the limit, and not the latency."""
    memory_bytes: float | None
    """Memory of all fetches; None: unknown."""
    memory_is_whole: bool
    """Whether it has the kernel's part, which other programs can disturb."""
    verdict: Verdict
    program_lines: int


class Advice(Struct, frozen=True, kw_only=True):
    """What is advised."""

    advised: Forecast | None
    """None: the run cannot tell."""
    why_not: str
    """Why nothing is advised; else empty."""
    alike: tuple[str, ...]
    """The models on one core that are as fast as the fastest of them."""
    available_bytes: int
    """Memory that was available on this machine."""
    models: tuple[Forecast, ...]
    """The models on one core, the fastest first, and the pool where the core is the limit."""


def advise(
    lines: DataFrame, trials: DataFrame, wanted: Wanted, lengths: Mapping[str, int], cores: int, available_bytes: int
) -> Advice:
    """Return the advice from a run that has the costs of a model on one core; its ``lines`` are ``with_cycles``.

    ``lengths``: the lines of the program of each strategy that is compared, of which the shortest of those alike is
    advised; if its fetches take more than MEMORY_SHARE of the memory, the one whose fetches take the least. ``cores``
    and ``available_bytes`` are those of this machine.
    """
    load, in_flight = wanted.load, wanted.in_flight
    able = [model for model in known(lines, wanted) if model.name in lengths]
    able.sort(key=lambda model: (model.cost(in_flight).is_unstable, -model.per_s(in_flight, load)[0], model.name))
    singles = [model for model in able if model.name != POOL]
    forecast = partial(
        _forecast,
        wanted=wanted,
        fastest=singles[0],
        answers=_answers(lines, wanted, singles[0].name),
        sizes=_sizes(trials, wanted),
        lengths=lengths,
    )
    forecasts = [forecast(model, cores=1) for model in singles]
    alike = [each for each in forecasts if each.verdict in {"fastest", "alike"}]
    advised = min(alike, key=lambda each: each.program_lines)
    if (advised.memory_bytes or 0) > MEMORY_SHARE * available_bytes:
        advised = min(alike, key=lambda each: each.memory_bytes or math.inf)
    why_not = _why_not(wanted, advised, forecasts)
    pools = [in_turns(model, in_flight, load) for model in able if model.name == POOL]
    if pools and cores > 1 and forecasts[0].is_full:
        pool = forecast(pools[0], cores=cores)
        forecasts.append(pool)
        if pool.verdict == "faster":
            advised = pool
    return Advice(
        advised=None if why_not else advised,
        why_not=why_not,
        alike=tuple(each.strategy for each in alike),
        available_bytes=available_bytes,
        models=tuple(forecasts),
    )


def _plain(lines: DataFrame, wanted: Wanted) -> DataFrame:
    """Return the lines of strategies in blocks with these connections, on pages like those that are wanted."""
    plain = lines.query(_PLAIN)
    plain = plain[plain["connection"] == wanted.connection]
    return plain[plain["site"].map(lambda text: json.loads(text).items() >= USUAL_PAGES.items()).astype(bool)]


def known(lines: DataFrame, wanted: Wanted) -> list[Model]:
    """Return the models that a run has the costs of: strategies on one core, and the pool on several.

    On one core the cost is known at the number in flight; that of the pool, which has none alone, may be of any number.
    """
    every = models(_plain(lines, wanted))
    return [model for model in every if model.name == POOL or model.has_cost(wanted.in_flight)]


def _sizes(trials: DataFrame, wanted: Wanted) -> dict[str, tuple[float, bool]]:
    """Return the memory of one more fetch in flight in bytes, and whether it is whole, of each measured strategy.

    It is that of all layers; where the kernel's are unknown, that of the process.
    """
    held = trials[(trials["kind"] == "memory") & (trials["connection"] == wanted.connection)]
    if held.empty:
        return {}
    table = slopes.slopes(slopes.layers(held))
    able = table[(table["group"] == "held") & table["estimate"].notna()]
    sizes = {}
    for layer in ("user", slopes.FULL):
        for line in records(able[able["layer"] == layer]):
            sizes[line.arm] = line.estimate, layer == slopes.FULL
    if MEMBER in sizes:
        sizes[POOL] = sizes[MEMBER]
    return sizes


def _forecast(
    model: Model,
    *,
    cores: int,
    wanted: Wanted,
    fastest: Model,
    answers: Mapping[str, str],
    sizes: Mapping[str, tuple[float, bool]],
    lengths: Mapping[str, int],
) -> Forecast:
    """Return what to expect of a model on at most so many cores; the pool has several, the others one.

    ``fastest`` on one core and ``answers`` decide its verdict, ``sizes`` are those of ``_sizes``.
    """
    load, in_flight = wanted.load, wanted.in_flight
    full_at = model.knee(load)
    is_long = load.latency_ns >= MIN_TURN_NS
    processes = 1
    if cores > 1:
        processes = math.ceil(in_flight / full_at) if is_long else 0
    each = math.ceil(in_flight / (processes or cores))
    if is_long:
        each = min(each, math.ceil(full_at))
    size, is_whole = sizes.get(model.name, (None, True))
    used = min(processes or cores, cores)
    rates = model.per_s(in_flight, load, used)
    ratio = rates[0] / fastest.per_s(in_flight, load)[0]
    verdict: Verdict = "unknown"
    if model.name == fastest.name:
        verdict = "fastest"
    elif model.cost(in_flight).is_unstable:
        verdict = "unstable"
    elif ratio > ALIKE:
        verdict = "faster"
    elif ratio * ALIKE >= 1:
        verdict = "alike"
    elif model.name == POOL or answers.get(model.name) == "differs":
        verdict = "slower"
    return Forecast(
        strategy=model.name,
        processes=processes,
        in_flight=each,
        cores=used,
        pages_per_s=rates,
        fetch_ns=in_flight / rates[0] * 1e9,
        cpu_per_page_ns=model.page_ns(in_flight, load),
        knee=full_at,
        is_full=in_flight >= used * full_at,
        memory_bytes=None if size is None else size * in_flight,
        memory_is_whole=is_whole,
        verdict=verdict,
        program_lines=lengths[model.name],
    )


def _answers(lines: DataFrame, wanted: Wanted, fastest: str) -> dict[str, str]:
    """Return what the rule of all tables says of each model and the fastest, by the costs nearest to the number."""
    costs = bare(_plain(lines, wanted)).query("strategy != @POOL")
    nearest = min(costs["in_flight"].unique(), key=lambda number: abs(math.log(number / wanted.in_flight)))
    compared = contrast(costs[costs["in_flight"] == nearest], "arm", fastest, ["figure"])
    return dict(zip(compared["arm"], compared["answer"], strict=True))


def _why_not(wanted: Wanted, advised: Forecast, forecasts: Sequence[Forecast]) -> str:
    """Return why the decision cannot be told; empty if it can.

    A model that cannot be told from the fastest is a bystander, unless there is no other.
    """
    turn_ns = wanted.load.latency_ns + advised.cpu_per_page_ns
    needed = knee(wanted.load.latency_ns + SERVER_NS, advised.cpu_per_page_ns)
    if turn_ns < MIN_TURN_NS and wanted.in_flight < needed:
        return "fetches are so short here that the unknown time of server and network decides"
    verdicts = [each.verdict for each in forecasts[1:]]
    if verdicts and not {"alike", "slower"} & set(verdicts):
        return f"the run cannot tell {forecasts[0].strategy}, the fastest in it, from any other model"
    return ""


def verify(lines: DataFrame, expected: Sequence[Forecast]) -> dict[str, Any]:
    """Return how far off the expected figures are, and whether the choice holds: no other model is surely faster.

    A noisy run confirms nothing. The advised model is the first of ``expected``; ``lines`` are of the very workload.
    """
    rates = lines.query("figure == 'pages_per_s' and valid and role != 'placebo'")
    means = {mean.strategy: mean for mean in records(summary(rates, ["strategy"]))}
    checked: list[dict[str, Any]] = []
    for forecast in expected:
        mean = means.get(forecast.strategy)
        measured = None
        off = None
        if mean is not None:
            measured = [end if math.isfinite(end) else None for end in (mean.estimate, mean.low, mean.high)]
            off = mean.estimate / forecast.pages_per_s[0] - 1
        checked.append(
            {
                "strategy": forecast.strategy,
                "expected_pages_per_s": forecast.pages_per_s[0],
                "measured_pages_per_s": measured,
                "off": off,
            }
        )
    against = contrast(rates, "strategy", expected[0].strategy, ["figure"])
    is_beaten = ((against["answer"] == "differs") & (against["estimate"] > ALIKE)).any()
    is_told = len(means) == len(expected) and not rates["is_noisy"].any()
    return {"holds": is_told and not is_beaten, "models": checked}
