"""What ``inflight swarm`` refuses and plans: nothing here starts a swarm."""

import json
import re
import socket
from pathlib import Path

import pytest

from inflight.bench.cli import main
from inflight.bench.studies.swarm.command import address, ramp_per_s
from tests.cli.command import inflight


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    """Run the command in this process; return its exit code and what it said."""
    with pytest.raises(SystemExit) as ended:
        main(["swarm", *arguments])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("", "--in-flight N"),
        ("--in-flight 10 --strategy callback", "unknown strategy 'callback'; did you mean \"callbacks\"?"),
        ("--in-flight 10 --strategy sequential", "sequential can have only 1 in flight"),
        ("--in-flight 10 --machines 3", "--machines is for --plan"),
        ("--in-flight 10 --ramp fast", "--ramp must be a whole number per second, such as 5000/s, not 'fast'"),
        ("--in-flight 10 --ramp 0/s", "--ramp must be a whole number from 1 to"),
        ("--in-flight 10 --processes 11", "11 processes are more than 10 fetches in flight"),
        ("--in-flight 10 --host nowhere", "--host: write an address of this machine, such as 192.0.2.1, not 'nowhere'"),
        ("--in-flight 10 --nodes 0", "--nodes 0"),
        ("--in-flight 10 --memory-budget little", '--memory-budget: "little" is not a size'),
        ("--in-flight 10 --memory-budget 1MB", "memory allows callbacks 0"),
        ("--join nobody", "--join takes the master's HOST:PORT"),
        ("--join nobody:0", "--join takes the master's HOST:PORT"),
        ("--join nobody:70000", "--join takes the master's HOST:PORT"),
        ("--join a:5557 --plan", "leave out --plan"),
        ("--join a:5557 --nodes 0", "--join needs at least one Locust worker"),
        ("--join a:5557 --in-flight 10 --port 3", "leave out --in-flight, --port"),
    ],
)
def test_an_impossible_request_is_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)

    code, out, err = asked(capsys, *arguments.split())

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err
    assert list(tmp_path.iterdir()) == []


def test_an_address_that_cannot_be_listened_on_is_named_as_in_a_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        port = taken.getsockname()[1]
        code, _, err = asked(capsys, "--in-flight", "10", "--host", "::1", "--port", str(port))

    assert code == 2
    assert f"cannot listen on [::1]:{port} (" in err


@pytest.mark.parametrize("arguments", ["--in-flight 0", "--port 99999", "--in-flight 10000001", "--nodes -1"])
def test_a_number_out_of_range_is_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: str) -> None:
    code, _, err = asked(capsys, *arguments.split())

    assert code == 2
    assert re.search(r": -?\d+ is too (small|large); write a whole number from \d+ to \d+, in digits\n$", err)


def test_a_plan_starts_nothing_and_writes_nothing(tmp_path: Path) -> None:
    done = inflight("swarm", "--in-flight", 1000, "--plan", folder=tmp_path)

    assert (done.code, done.err) == (0, "")
    assert "inflight swarm --strategy callbacks --in-flight 1000" in done.out
    assert list(tmp_path.iterdir()) == []


def test_a_plan_as_json_has_the_layout(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = asked(capsys, "--in-flight", "3000", "--plan", "--machines", "3", "--json")

    planned = json.loads(out)
    assert code == 0
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
