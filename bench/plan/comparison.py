"""A comparison of ``inflight ab``: two arms, the work of both, and the trials that measure it.

``ab.command`` makes it by ``from_words`` from the command line, the self-test by ``comparison`` from two arms.
``measure.blocks.comparing`` prepares its arms, sets what a first block shows (``gated``, ``cycles``) and runs its
``block``, ``memory`` and ``counted`` trials. Side A is the reference; it is measured twice in each block (the placebo).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from msgspec import structs, to_builtins

from inflight.bench.plan.experiment import named
from inflight.bench.plan.grid import CONNECTIONS, COUNTED_LATENCY, MAX_IN_FLIGHT, served
from inflight.bench.plan.judge import check_known, judged, need, whole
from inflight.bench.plan.trial import Trial, common_settings, placebo
from inflight.bench.plan.trials import trial_of
from inflight.bench.rows.kinds import IN_FLIGHT, Arm, ComparisonOf, CountsWorkload, CrawlWorkload, Metric
from inflight.fake_server.delays import parse_delay
from inflight.fake_server.site import SiteConfig
from inflight.strategies import Description, canonical
from inflight.strategies.registry import is_reference

ArmName = Literal["A", "B"]
"""A side of a comparison."""
METRICS: tuple[Metric, ...] = ("cpu_per_page", "throughput", "memory")
"""What is compared unless a metric is named."""
FIRST_CYCLES, FIRST_WAITING = 12, 2
"""Numbers of cycles (slices of each arm) of the block that calibrates a comparison, without and with added latency:
slices then last for twenty latencies."""
MEMORY_SIZES = tuple((200 + 12 * k, 2000 + 25 * (17 * k % 48)) for k in range(48))
"""Pairs of numbers in flight between which a memory slope is measured, one for each block. A longer docstring lays out
the heap otherwise and moves each reading by some 50 kB: with few pairs, that was a significant change."""
BLOCK_NS = 5_000_000_000
"""Estimated time of a block in nanoseconds."""
COUNT_REPEATS = 2
"""Number of times that each side is counted."""
LIGHT = 2
"""Factor of the larger number in flight for models without a thread for each fetch: they take so little memory per
fetch that a difference shows only over more fetches."""
SETTINGS = {
    "python": (".+", "an interpreter"),
    "with": ("[^-].*", "a requirement such as aiohttp==3.11"),
    "env": ("(?!PYTHONPATH=)[A-Za-z_][A-Za-z0-9_]*=.*", "NAME=VALUE without PYTHONPATH, which would hide the harness"),
    "in_flight": ("[0-9]{1,9}", "a whole number"),
    "connection": ("|".join(CONNECTIONS), " or ".join(CONNECTIONS)),
    "tls": ("true|false", "true or false"),
    "repo": (".+", "a folder"),
}
"""The settings of a side: the pattern of each, and what it takes."""
Setting = tuple[str, str, str]
"""The option that a setting was given with, its key and its value."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two arms, A (the reference) and B, and the site that both crawl."""

    a: Arm
    b: Arm
    site: SiteConfig
    metrics: tuple[Metric, ...] = METRICS
    name: str = "ab"
    gated: tuple[Metric, ...] = METRICS  #: Metrics of the verdict, which a slowdown changes: set by calibration.
    cycles: int | None = None  #: Number of slices of each arm in a block; None: set by calibration.
    models: Mapping[str, Description] = field(default_factory=dict)
    """What the strategies of all arms are, by their names: set when they are prepared."""

    @property
    def arms(self) -> tuple[Arm, Arm, Arm]:
        """The arms of a block: A, B, and A again as the placebo."""
        return self.a, self.b, placebo(self.a)

    def block(self, number: int) -> Trial:
        """Return a block of the comparison; numbers begin at 1."""
        workload = CrawlWorkload(id=f"compare/{self.name}", **self._values(self.a, self.site))
        cycles = self.cycles or (FIRST_WAITING if self.site.delay != "0" else FIRST_CYCLES)
        block_id = f"{workload.id}/round={number}"
        return Trial(block_id, number, "arm", workload, BLOCK_NS, self.arms, self.models, cycles=cycles)

    def memory(self, number: int) -> list[Trial]:
        """Return the memory trials of A and B, each at two numbers in flight; B is first in every second block."""
        order = (self.a, self.b) if number % 2 else (self.b, self.a)
        few, many = MEMORY_SIZES[number % len(MEMORY_SIZES)]
        has_threads = any(model.threads_each for model in self.models.values())
        sizes = few, many if has_threads else LIGHT * many
        return [self._held(number, arm, size) for arm in order for size in sizes]

    def counted(self, number: int, *, bytecodes: bool = False) -> list[Trial]:
        """Return the trials of a round, in which what A and B do per page is counted; numbers begin at 1.

        ``bytecodes``: whether instructions of bytecode are counted, too.
        """
        trials = []
        for arm in (self.a, self.b):
            values = self._values(arm, self.site) | {"repeats": COUNT_REPEATS, "bytecodes": bytecodes or None}
            workload = CountsWorkload(id=f"compare/{self.name}/counts", **values)
            trials.append(trial_of("counts", number, workload, self.models[arm.name]))
        return trials

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as values for the folder of the run."""
        arms = {"a": to_builtins(self.a), "b": to_builtins(self.b)}
        values = arms | {"latency": self.site.delay, "site": self.site.to_dict(), "metrics": list(self.metrics)}
        return values | ({"cycles": self.cycles} if self.cycles else {})

    def _values(self, arm: Arm, site: SiteConfig) -> dict[str, Any]:
        """Return the values of the workload of an arm that depend on neither its kind nor its id."""
        gated = [metric for metric in self.metrics if metric in self.gated]
        comparison = ComparisonOf(name=self.name, metrics=list(self.metrics), gated=gated)
        return {**common_settings(arm), "arm": arm, "comparison": comparison, **served(site)}

    def _held(self, number: int, arm: Arm, size: int) -> Trial:
        """Return the trial that holds ``size`` fetches of an arm at the server while memory is read."""
        values = self._values(arm, SiteConfig(pages=size, links=0)) | {"in_flight": size}
        workload = CrawlWorkload(id=f"compare/{self.name}/memory/{size}", **values)
        return trial_of("memory", number, workload, self.models[arm.name])


def comparison(a: Arm, b: Arm, site: SiteConfig, metrics: tuple[Metric, ...] = METRICS, name: str = "ab") -> Comparison:
    """Return the comparison of two arms; their names and roles are replaced."""
    a, b = structs.replace(a, name="A", role="reference"), structs.replace(b, name="B", role="compared")
    return Comparison(a, b, site, metrics, name)


def from_words(
    a: str,
    b: str | None = None,
    *,
    both: Sequence[Setting] = (),
    of_a: Sequence[str] = (),
    of_b: Sequence[str] = (),
    latency: str = "0",
    links: int = 10,
    metrics: Sequence[str] = (),
) -> Comparison:
    """Return the comparison that a command line asks for, before calibration. Raises ExperimentError.

    A side is ``strategy`` or ``strategy@revision``; without ``b``, both are ``a``. ``both`` are the settings of both
    sides, ``of_a`` and ``of_b`` those of one, as ``KEY=VALUE``; they override those of both.
    """
    need(b is not None or bool(of_a or of_b), "name a second side, or what differs, as in --b python=python3.13")
    delay = judged(lambda: parse_delay(latency), "--latency").text
    for name in metrics:
        check_known(name, (*METRICS, "calls"), "metric", "--metric")
    first = _arm(a, "A", [*both, *_settings(of_a, "--a")])
    second = _arm(a if b is None else b, "B", [*both, *_settings(of_b, "--b")])
    if "calls" in metrics:
        need(set(metrics) == {"calls"}, "--metric calls stands alone; compare time and memory in another run")
        need(delay == "0", "--metric calls has a latency of its own, 1 ms; leave out --latency")
        need(links > 0, "--metric calls crawls an endless site, which needs links; leave out --links 0")
        return of_calls(first, second, links)
    wanted = tuple(metric for metric in METRICS if metric in metrics) or METRICS
    return comparison(first, second, SiteConfig(delay=delay, links=links), wanted)


def of_calls(a: Arm, b: Arm, links: int = 10, name: str = "ab") -> Comparison:
    """Return the comparison of what two arms do per page, for which latency and number in flight are fixed."""
    for arm in (a, b):
        need(arm.in_flight in {1, IN_FLIGHT}, "--metric calls has one fetch in flight; leave out in_flight")
    a, b = structs.replace(a, in_flight=1), structs.replace(b, in_flight=1)
    made = comparison(a, b, SiteConfig(delay=COUNTED_LATENCY, links=links), ("calls",), name)
    return replace(made, gated=("calls",))


def _settings(words: Sequence[str], option: str) -> list[Setting]:
    """Split settings of one side, KEY=VALUE, into option, key and value. Raises ExperimentError."""
    settings = []
    for word in words:
        key, equals, value = word.partition("=")
        need(bool(equals), f"{option} takes KEY=VALUE, not {word!r}")
        check_known(key, SETTINGS, "setting", option)
        settings.append((f"{option} {key}", key, value))
    return settings


def _arm(text: str, side: ArmName, settings: Sequence[Setting]) -> Arm:
    """Return the arm of a side: ``text`` is STRATEGY or STRATEGY@REVISION, the settings are applied in their order."""
    strategy, at, revision = (text, "", "") if Path(text).is_file() else text.partition("@")
    need(bool(strategy), f"a side must be STRATEGY or STRATEGY@REVISION, not {text!r}")
    need(not at or bool(revision), f"{strategy}@ has no revision")
    need(not revision.startswith("-"), f"{revision!r} is not a git revision")
    strategy = named(strategy, f"side {side}") if is_reference(strategy) else canonical(strategy)
    arm = Arm(side, strategy, "compared", revision=revision or None)
    for option, key, value in settings:
        arm = structs.replace(arm, **_changed(arm, option, key, value))
    return arm


def _changed(arm: Arm, option: str, key: str, value: str) -> dict[str, Any]:
    """Return what a setting changes of an arm. Variables and requirements add up; of others, the last one counts."""
    pattern, takes = SETTINGS[key]
    need(re.fullmatch(pattern, value, re.DOTALL) is not None, f"{option} takes {takes}, not {value!r}")
    match key:
        case "repo":
            return {"repository": str(Path(value))}
        case "in_flight":
            return {"in_flight": whole(int(value), 1, MAX_IN_FLIGHT, option)}
        case "with":
            return {"requirements": (*arm.requirements, value)}
        case "env":
            name, _, text = value.partition("=")
            return {"variables": {**arm.variables, name: text}}
        case "tls":
            return {"tls": value == "true"}
    return {key: value}
