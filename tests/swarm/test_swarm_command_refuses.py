"""What ``inflight swarm`` plans: nothing here starts a swarm."""

import json
from pathlib import Path

import pytest

from inflight.bench.commands.swarm import address, ramp_per_s
from tests.cli.command import call, inflight


def test_a_plan_starts_nothing_and_writes_nothing(tmp_path: Path) -> None:
    done = call("swarm", "--in-flight", 1000, "--plan", folder=tmp_path)

    assert (done.code, done.err) == (0, "")
    assert "inflight swarm --strategy callbacks --in-flight 1000" in done.out
    assert list(tmp_path.iterdir()) == []


def test_a_plan_as_json_has_the_layout() -> None:
    done = call("swarm", "--in-flight", 3000, "--plan", "--machines", 3, "--json")

    planned = json.loads(done.out)
    assert done.code == 0
    assert (planned["machines"], planned["each"]["asked"]) == (3, 1000)
    assert sum(share["count"] for share in planned["each"]["shares"]) == planned["each"]["in_flight"]


def test_too_few_descriptors_make_more_processes() -> None:
    done = inflight("swarm", "--in-flight", 1000, "--plan", limit=("RLIMIT_NOFILE", 200))

    assert "8 strategy processes" in done.out
    assert "of 140 for 200 descriptors" in done.out


@pytest.mark.parametrize(("text", "rate"), [("5000/s", 5000), ("5000", 5000), (" 1/s ", 1)])
def test_a_ramp_is_a_whole_number_per_second(text: str, rate: int) -> None:
    assert ramp_per_s(text) == rate


@pytest.mark.parametrize(
    ("text", "found"),
    [("192.0.2.1:5557", ("192.0.2.1", 5557)), ("one.example:1", ("one.example", 1)), ("[::1]:5557", ("::1", 5557))],
)
def test_a_master_is_host_and_port(text: str, found: tuple[str, int]) -> None:
    assert address(text) == found
