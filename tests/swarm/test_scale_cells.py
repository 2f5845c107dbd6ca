"""The cells of [[swarm]] and [[open]] tables, and the trials made from them."""

import importlib.util
import tomllib
from importlib import metadata
from typing import Any

import pytest

from inflight import strategies
from inflight.bench.measure import run as runs
from inflight.bench.plan import scale
from inflight.bench.plan.experiment import Experiment, parse
from inflight.bench.plan.trial import Trial
from inflight.bench.plan.trials import expand

KNOWN = strategies.names()
DESCRIBED = {name: strategies.describe(name) for name in KNOWN}


def read(text: str) -> Experiment:
    return parse(tomllib.loads(text), "made", KNOWN, "made.toml")


def trials(text: str) -> list[Trial]:
    return expand(read(text), DESCRIBED)


BOTH = """
strategies = ["callbacks", "aiohttp_client", "sequential"]
rounds = 2
[site]
links = 7
body_bytes = 50
[[swarm]]
in_flight = [1000, 20000]
ramp_per_s = 500
rounds = 1
[[open]]
rates = [100, 2.5]
latency = ["10ms", "0"]
seconds = 4
[[open]]
rates = [100]
target = "http://127.0.0.1:8000/"
users = 3
"""


def test_each_cell_is_a_trial_of_its_own_in_each_round() -> None:
    found = trials(BOTH)

    assert len({trial.id for trial in found}) == len(found)
    assert sorted(trial.kind for trial in found if trial.round == 1) == ["open"] * 5 + ["swarm"] * 4
    assert {trial.kind for trial in found if trial.round == 2} == {"open"}


def test_a_swarm_has_its_strategys_stack_and_a_page_for_each_fetch() -> None:
    swarms = [trial for trial in trials(BOTH) if trial.kind == "swarm"]

    assert {(trial.name, trial.stack) for trial in swarms} == {("callbacks", "shared"), ("aiohttp_client", "own")}
    for trial in swarms:
        site = trial.site
        assert trial.workload.id == f"swarm/in_flight={trial.workload.in_flight}/ramp=500"
        assert (site.pages, site.links, site.body_bytes) == (trial.workload.in_flight, 0, 50)


def test_an_open_loop_is_a_trial_of_locust() -> None:
    found = {trial.workload.id: trial for trial in trials(BOTH) if trial.kind == "open"}

    assert {(trial.name, trial.stack) for trial in found.values()} == {("locust", "own")}
    values = found["open/latency=10ms/rate=2.5"].workload
    assert (values.mean_latency_ns, values.seconds, values.users) == (10_000_000, 4, 200)
    assert (values.site.links, values.target) == (7, None)
    target = found["open/target=http://127.0.0.1:8000//rate=100"].workload
    assert (target.latency, target.mean_latency_ns, target.site, target.users) == (None, None, None, 3)


def test_a_target_on_another_machine_is_refused_in_an_experiment() -> None:
    table = scale.OpenTable(rates=(5,), target="http://example.com/")

    assert [trial.id for trial in table.trials()] == ["open/target=http://example.com//rate=5/round=1"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "LOCALHOST", "localhost."])
def test_hosts_on_loopback(host: str) -> None:
    assert scale.is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "192.0.2.1",
        "0.0.0.0",
        "::",
        "example.com",
        "",
        "127.1",
        "localhost.example.com",
    ],
)
def test_hosts_beyond_loopback(host: str) -> None:
    assert not scale.is_loopback(host)


# ------------------------------------------------------------------------------------------------- Locust


def _nowhere(_name: str) -> Any:
    return None


def test_without_locust_a_swarm_and_an_open_loop_are_refused_and_a_crawl_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", _nowhere)

    for text in ("[[swarm]]\nin_flight=[5]", "[[open]]\nrates=[5]"):
        with pytest.raises(runs.RunError, match=r"^this needs Locust; .*make extras.*pip install locust"):
            runs.plan(read(text))
    assert runs.plan(read("[[crawl]]\npages=5"))


@pytest.mark.parametrize(
    ("found", "fine"),
    [
        ("2.28.9", False),
        ("1.99", False),
        ("2.29.0", True),
        ("3.0", True),
    ],
)
def test_a_locust_that_is_too_old_is_refused_with_both_versions(
    monkeypatch: pytest.MonkeyPatch,
    found: str,
    fine: bool,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: True)
    monkeypatch.setattr(metadata, "version", lambda _name: found)

    if fine:
        runs.need_locust()
        return
    with pytest.raises(runs.RunError, match=rf"needs Locust 2\.29 or newer, and {found} is installed"):
        runs.need_locust()
