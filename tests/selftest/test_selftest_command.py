"""``inflight selftest`` from the command line, and the worker that measures the harness's overhead."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from inflight.bench.core import rows
from inflight.bench.measure import interpreters
from inflight.bench.measure.process import environment
from inflight.bench.studies.selftest import command as selftest_command
from tests.cli.command import INFLIGHT, inflight


def test_the_cost_of_measuring_is_printed() -> None:
    command = [sys.executable, "-P", "-m", "inflight.bench.studies.selftest.overhead"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())

    found = json.loads(done.stdout)
    assert set(found) == {"with_ns", "without_ns"}
    assert found["without_ns"] > 0


def test_interpreters_of_sides_are_labelled_and_two_names_of_one_are_no_difference(tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    label = interpreters.ask(sys.executable).label

    one, two = selftest_command.Plan("callbacks", selftest_command.QUICK, 1), (sys.executable, str(tmp_path / "python"))
    named = replace(one, pythons=two)

    assert (one.interpreters, one.differ) == ([], False)
    assert (named.interpreters, named.differ) == ([label, label], False)
    assert [arm.python for arm in named.arms("callbacks")] == list(two)
    assert [arm.python for arm in replace(one, pythons=two[:1]).arms("callbacks")] == [sys.executable] * 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--python", "a", "--python", "b", "--python", "c"], "--python may be given once, for both sides, or twice"),
        (["--python", "python3", "--strategy", "aiohttp_client"], "--python: aiohttp_client needs aiohttp; choose a"),
    ],
)
def test_interpreters_that_cannot_be_tested_are_one_sentence(words: list[str], sentence: str, tmp_path: Path) -> None:
    done = inflight("selftest", *words, "--out", tmp_path)

    assert done.sentence.startswith(sentence)


@pytest.mark.parametrize(
    ("alarms", "too_few", "code"),
    [(0, [], 0), (1, [], 0), (30, [], 1), (0, ["callbacks"], 3), (30, ["callbacks"], 3)],
)
def test_the_exit_code_says_whether_alarms_are_too_frequent_or_blocks_too_few(
    alarms: int, too_few: list[str], code: int
) -> None:
    counted = {"real": {"alarms": alarms, "decisions": 100}, "resampled": {"alarms": 0, "decisions": 1000}}

    assert selftest_command.code({"too_few": too_few, "false_alarms": counted}) == code


@pytest.mark.long
def test_a_quick_self_test_is_kept_and_quoted_by_the_next_verdict(tmp_path: Path) -> None:
    def patient(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [*INFLIGHT, *words, "--out", str(tmp_path), "--json"]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=800)

    done = patient("selftest", "--quick")

    found = json.loads(done.stdout)
    assert done.returncode == selftest_command.code(found)
    (folder,) = tmp_path.iterdir()
    assert json.loads((folder / "selftest.json").read_text(encoding="utf-8")) | {"folder": str(folder)} == found
    names = {row.workload.id for row in rows.read(folder)}
    assert names >= {"compare/aa", "compare/planting"}
    # A very noisy machine leaves no good block, and no valid round of a client.
    planted = {f"compare/planted-{size}" for size, one in found["detection"].items() if one["loops"] is not None}
    assert {name for name in names if name.startswith("compare/planted-")} == planted
    assert names >= {f"client/latency={latency}/in_flight=50" for latency in ("0", "10ms", "50ms")}
    assert [one["latency"] for one in found["clients"]["latencies"]] == ["50ms", "10ms", "0"]
    has_figure = any(client["per_s"] for one in found["clients"]["latencies"] for client in one["clients"])
    drawn = {path.name for path in (folder / "plots").glob("*")}
    assert {"selftest.png", "selftest.svg"} <= drawn or found["strategy"] in found["too_few"]
    assert ({"clients.png", "clients.svg"} <= drawn) == has_figure
    compared = patient("ab", "callbacks", "callbacks", "--metric", "cpu_per_page")
    assert json.loads(compared.stdout)["error_rates"] == {"measured": found["made_at"]}
