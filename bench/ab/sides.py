"""The two sides of a comparison from the words of a command line: ``callbacks@main``, ``--b in_flight=10``."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from inflight.bench.plan.arm import Arm
from inflight.bench.plan.comparison import METRICS, ArmName, Comparison, comparison
from inflight.bench.plan.experiment import named
from inflight.bench.plan.grid import CONNECTIONS, MOST_IN_FLIGHT
from inflight.bench.plan.judge import check_known, judged, need, whole
from inflight.fake_server.delays import parse_delay
from inflight.fake_server.site import SiteConfig
from inflight.strategies.registry import is_reference

KEYS = ("python", "with", "env", "in_flight", "connection", "repo")
"""The settings of a side."""
MAX_DIGITS = 100
"""Maximum number of digits of a setting; Python refuses to parse thousands of digits."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
Setting = tuple[str, str, str]
"""The option that a setting was given with, its key and its value."""


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
    """Return the comparison before calibration. Raises ExperimentError.

    A side is ``strategy`` or ``strategy@revision``; without ``b``, both are ``a``. ``both`` are the settings of both
    sides, ``of_a`` and ``of_b`` those of one, as ``KEY=VALUE``; they override those of both.
    """
    need(b is not None or bool(of_a or of_b), "name a second side, or what differs, as in --b python=python3.13")
    delay = judged(lambda: parse_delay(latency), "--latency").text
    for name in metrics:
        check_known(name, METRICS, "metric", "--metric")
    wanted = tuple(metric for metric in METRICS if metric in metrics) or METRICS
    first = _arm(a, "A", [*both, *_settings(of_a, "--a")])
    second = _arm(a if b is None else b, "B", [*both, *_settings(of_b, "--b")])
    return comparison(first, second, SiteConfig(delay=delay, links=links), wanted)


def _settings(words: Sequence[str], option: str) -> list[Setting]:
    settings = []
    for word in words:
        key, equals, value = word.partition("=")
        need(bool(equals), f"{option} takes KEY=VALUE, not {word!r}")
        check_known(key, KEYS, "setting", option)
        settings.append((f"{option} {key}", key, value))
    return settings


def _arm(text: str, side: ArmName, settings: Sequence[Setting]) -> Arm:
    strategy, at, revision = (text, "", "") if Path(text).is_file() else text.partition("@")
    need(bool(strategy), f"a side must be STRATEGY or STRATEGY@REVISION, not {text!r}")
    need(not at or bool(revision), f"{strategy}@ has no revision")
    need(not revision.startswith("-"), f"{revision!r} is not a git revision")
    strategy = named(strategy, f"side {side}") if is_reference(strategy) else strategy
    arm = Arm(side, strategy, revision=revision or None)
    for option, key, value in settings:
        arm = replace(arm, **_changed(arm, option, key, value))
    return arm


def _changed(arm: Arm, option: str, key: str, value: str) -> dict[str, Any]:
    """Return what a setting changes of an arm. Variables and requirements add up; of others, the last one counts."""
    need(bool(value), f"{option} has no value")
    match key:
        case "repo":
            return {"repository": Path(value)}
        case "connection":
            check_known(value, CONNECTIONS, "connection use", option)
        case "in_flight":
            need(value.isdecimal() and len(value) < MAX_DIGITS, f"{option} takes a whole number, not {value!r}")
            return {"in_flight": whole(int(value), 1, MOST_IN_FLIGHT, option)}
        case "with":
            need(not value.startswith("-"), f"{option} takes a requirement such as aiohttp==3.11, not {value!r}")
            return {"requirements": (*arm.requirements, value)}
        case "env":
            need(_VARIABLE.fullmatch(value) is not None, f"{option} takes NAME=VALUE, not {value!r}")
            name, _, text = value.partition("=")
            need(name != "PYTHONPATH", f"{option} cannot set PYTHONPATH, which would hide the harness; use repo")
            return {"variables": {**arm.variables, name: text}}
    return {key: value}
