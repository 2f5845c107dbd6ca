"""A comparison of ``inflight ab``: its two sides, the work of both, and its blocks and memory trials."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from inflight.bench.plan.arm import Arm, BlockTrial, placebo
from inflight.bench.plan.experiment import named
from inflight.bench.plan.grid import CONNECTIONS, MOST_IN_FLIGHT, Workload
from inflight.bench.plan.judge import ExperimentError, check_known, judged, need, whole
from inflight.bench.plan.trials import Trial, trial_of
from inflight.fake_server.delays import parse_delay
from inflight.fake_server.site import SiteConfig
from inflight.strategies import Description
from inflight.strategies.registry import is_reference

ArmName = Literal["A", "B"]
Metric = Literal["cpu_per_page", "throughput", "memory"]
METRICS: tuple[Metric, ...] = ("cpu_per_page", "throughput", "memory")
FIRST_CYCLES = 12
"""Number of cycles of the block that calibrates a comparison."""
MEMORY_SIZES = tuple((200 + 20 * k, 2000 + 100 * k) for k in range(5))
"""Pairs of numbers in flight between which a memory slope is measured; blocks use them in turn."""
SETTINGS = ("in_flight", "connection")
MOST_DIGITS = 100
"""Maximum number of digits of a setting; Python refuses to parse thousands of digits."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two arms, A (the reference) and B, and the site that both crawl."""

    a: Arm
    b: Arm
    site: SiteConfig
    metrics: tuple[Metric, ...] = METRICS
    name: str = "ab"
    gated: tuple[Metric, ...] = METRICS
    """Metrics that decide the verdict: those of ``metrics`` that a slowdown changes. Set by calibration."""
    cycles: int = FIRST_CYCLES
    """Number of slices of each arm in a block. Set by calibration."""

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms of a block: A, B, and A again as the placebo."""
        return self.a, self.b, placebo(self.a)

    def block(self, number: int, expected_ns: int = 5_000_000_000) -> BlockTrial:
        """Return a block of the comparison; numbers begin at 1."""
        workload = Workload(f"compare/{self.name}", "crawl", self.site, self.a.in_flight, self.a.connection)
        block_id = f"{workload.id}/round={number}"
        return BlockTrial(block_id, number, workload, self.arms, self.cycles, expected_ns, self._said())

    def memory(self, number: int, described: dict[str, Description]) -> list[tuple[ArmName, Trial]]:
        """Return the memory trials of A and B, each at two numbers in flight; B is first in every second block."""
        order: tuple[ArmName, ...] = ("A", "B") if number % 2 else ("B", "A")
        sizes = MEMORY_SIZES[number % len(MEMORY_SIZES)]
        return [(name, self._held(number, name, size, described[name])) for name in order for size in sizes]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as values for the folder of the run."""
        return {
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "latency": self.site.delay,
            "site": self.site.to_dict(),
            "metrics": list(self.metrics),
            "cycles": self.cycles,
        }

    def _said(self) -> dict[str, Any]:
        gated = [metric for metric in self.metrics if metric in self.gated]
        return {"comparison": {"name": self.name, "metrics": list(self.metrics), "gated": gated}}

    def _held(self, number: int, name: ArmName, size: int, described: Description) -> Trial:
        arm = self.a if name == "A" else self.b
        site = SiteConfig(pages=size, links=0)
        workload = Workload(f"compare/{self.name}/memory/{size}", "memory", site, size, arm.connection)
        trial = trial_of(f"{workload.id}/{name}/round={number}", number, workload, described)
        return replace(trial, said={"arm": arm.to_dict()} | self._said())


def comparison(a: Arm, b: Arm, site: SiteConfig, metrics: tuple[Metric, ...] = METRICS, name: str = "ab") -> Comparison:
    """Return the comparison of two arms; their names and roles are replaced."""
    return Comparison(
        replace(a, name="A", role="reference"), replace(b, name="B", role="compared"), site, metrics, name
    )


# From the command line


def from_words(
    a: str, b: str | None, *, latency: str = "0", links: int = 10, metrics: Sequence[str] = (), **options: Sequence[Any]
) -> Comparison:
    """Return the comparison before calibration. Raises ExperimentError.

    A side is ``strategy`` or ``strategy@revision``; without ``b``, both are ``a``. ``options`` are those of ``_arm``;
    each has no value, one value for both sides, or one for each side.
    """
    if b is None:
        twice = any(len(values) == 2 for values in options.values())
        need(twice, "name a second side, or give an option twice, as in --python python3.12 --python python3.13")
        b = a
    delay = judged(lambda: parse_delay(latency), "--latency").text
    first, second = _arm(a, 0, **options), _arm(b, 1, **options)
    written_alike = a == b and all(len(set(values)) <= 1 for values in options.values())
    if first == second and not written_alike:  # comparing a strategy with itself is intended
        raise ExperimentError(
            "both sides are the same, although they are written differently; name two different sides"
        )
    return comparison(first, second, SiteConfig(delay=delay, links=links), _metrics(metrics))


def _arm(
    text: str,
    number: int,
    *,
    repositories: Sequence[Path] = (),
    pythons: Sequence[str] = (),
    requirements: Sequence[str] = (),
    settings: Sequence[str] = (),
    variables: Sequence[str] = (),
) -> Arm:
    strategy, at, revision = (text, "", "") if Path(text).is_file() else text.partition("@")
    need(bool(strategy), f"a side must be STRATEGY or STRATEGY@REVISION, not {text!r}")
    need(not at or bool(revision), f"{strategy}@ has no revision")
    need(not revision.startswith("-"), f"{revision!r} is not a git revision")
    return Arm(
        "",
        named(strategy, f"side {'AB'[number]}") if is_reference(strategy) else strategy,
        revision=revision or None,
        repository=_of(repositories, number, "--repo"),
        python=_of(pythons, number, "--python") or None,
        requirements=_requirements(_of(requirements, number, "--with") or ""),
        variables=_variables(_of(variables, number, "--env") or ""),
        **_settings(_of(settings, number, "--set") or ""),
    )


def _of(values: Sequence[_Value], number: int, option: str) -> _Value | None:
    """Return the value of one side: a single value is for both; of two values, the first is for A."""
    times = len(values)
    need(times <= 2, f"{option} may be given once, for both sides, or twice, for A and for B; not {times} times")
    return values[min(number, times - 1)] if values else None


def _requirements(text: str) -> tuple[str, ...]:
    """Return the requirements of one side, which are separated by spaces: ``aiohttp==3.11 yarl<1.20``."""
    for requirement in text.split():
        need(not requirement.startswith("-"), f"--with takes requirements such as aiohttp==3.11, not {requirement!r}")
    return tuple(text.split())


def _settings(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = (word.strip() for word in part.partition("="))
        need(bool(equals), f"--set takes NAME=VALUE, not {part!r}")
        check_known(key, SETTINGS, "setting", "--set")
        if key == "connection":
            check_known(value, CONNECTIONS, "connection use", "--set")
            found[key] = value
        else:
            need(value.isdecimal() and len(value) < MOST_DIGITS, f"--set {key} takes a whole number, not {value!r}")
            found[key] = whole(int(value), 1, MOST_IN_FLIGHT, f"--set {key}")
    return found


def _variables(text: str) -> dict[str, str]:
    found = {}
    for part in judged(lambda: shlex.split(text), "--env"):
        need(_VARIABLE.fullmatch(part) is not None, f"--env takes NAME=VALUE, not {part!r}")
        name, _, value = part.partition("=")
        need(
            name != "PYTHONPATH",
            "--env cannot set PYTHONPATH, which would hide the harness; use --repo for other strategies",
        )
        found[name] = value
    return found


def _metrics(wanted: Sequence[str]) -> tuple[Metric, ...]:
    for name in wanted:
        check_known(name, METRICS, "metric", "--metric")
    return tuple(metric for metric in METRICS if metric in wanted) or METRICS
