"""From what is written on the command line to the two arms of a comparison. Each refusal is one sentence."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.arm import IN_FLIGHT, Arm
from bench.core.grid import CONNECTIONS, MOST_IN_FLIGHT
from bench.core.judge import ExperimentError, check_known, judged, need, whole
from bench.studies.compare.comparison import METRICS, Comparison, Metric
from bench.studies.compare.comparison import comparison as compared
from fake_server.delays import parse_delay
from fake_server.site import SiteConfig

SETTINGS = ("in_flight", "connection")
MOST_DIGITS = 100
"""Python refuses to read a number of several thousand digits; long before that it is no setting."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Written:
    """What the command line says of the two arms. Each sequence has nothing, one value for both, or one for each."""

    a: str
    b: str
    repositories: Sequence[Path] = ()
    pythons: Sequence[str] = ()
    requirements: Sequence[str] = ()
    settings: Sequence[str] = ()
    variables: Sequence[str] = ()


def both(written: Written) -> tuple[Arm, Arm]:
    """Return the two arms. Raises ExperimentError."""
    a, b = (_arm(written, number) for number in (0, 1))
    if a == b and _asks_for_two(written):
        raise ExperimentError(
            "both sides come to the same, although they are written differently; name two that differ"
        )
    return a, b


def _asks_for_two(written: Written) -> bool:
    """Tell whether the sides are written differently; a strategy beside itself is asked for on purpose."""
    options = (written.repositories, written.pythons, written.requirements, written.settings, written.variables)
    return written.a != written.b or any(len(set(values)) > 1 for values in options)


def comparison(written: Written, *, latency: str, links: int, metrics: str | None) -> Comparison:
    """Return the comparison, yet to be calibrated. Raises ExperimentError."""
    delay = judged(lambda: parse_delay(latency), "--latency").text
    a, b = both(written)
    return compared(a, b, SiteConfig(delay=delay, links=links), _metrics(metrics))


def _arm(written: Written, number: int) -> Arm:
    strategy, _, revision = (written.a, written.b)[number].partition("@")
    need(bool(strategy), f"a side is a strategy, or strategy@revision, not {(written.a, written.b)[number]!r}")
    need("@" not in (written.a, written.b)[number] or bool(revision), f"{strategy}@ lacks its revision")
    need(not revision.startswith("-"), f"{revision!r} is no git revision")
    settings = _settings(_of(written.settings, number, "--set"))
    return Arm(
        "",
        strategy,
        in_flight=settings.get("in_flight", IN_FLIGHT),
        connection=settings.get("connection", "keep-alive"),
        revision=revision or None,
        repository=_of(written.repositories, number, "--repo"),
        python=_of(written.pythons, number, "--python") or None,
        requirements=_requirements(_of(written.requirements, number, "--with")),
        variables=_variables(_of(written.variables, number, "--env")),
    )


def _of(values: Sequence[Any], number: int, option: str) -> Any:
    """Return the value of one side: given once, it is for both; given twice, the first is A's."""
    need(
        len(values) <= 2,
        f"{option} may be given once, for both sides, or twice, for A and for B; not {len(values)} times",
    )
    return values[min(number, len(values) - 1)] if values else None


def _requirements(text: str | None) -> tuple[str, ...]:
    """Return the requirements of one side: several are separated by spaces, as in ``aiohttp==3.11 yarl<1.20``."""
    found = tuple((text or "").split())
    for requirement in found:
        need(not requirement.startswith("-"), f"--with takes requirements such as aiohttp==3.11, not {requirement!r}")
    return found


def _settings(text: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in filter(None, (text or "").split(",")):
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


def _variables(text: str | None) -> dict[str, str]:
    if not text:
        return {}
    found = {}
    for part in judged(lambda: shlex.split(text), "--env"):
        need(_VARIABLE.fullmatch(part) is not None, f"--env takes NAME=VALUE, not {part!r}")
        name, _, value = part.partition("=")
        need(name != "PYTHONPATH", "--env PYTHONPATH would hide the harness; use --repo for other strategies")
        found[name] = value
    return found


def _metrics(text: str | None) -> tuple[Metric, ...]:
    if text is None:
        return METRICS
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    need(bool(wanted), "--metrics names none")
    for name in wanted:
        check_known(name, METRICS, "metric", "--metrics")
    return tuple(metric for metric in METRICS if metric in wanted)
