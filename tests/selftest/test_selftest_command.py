"""``inflight selftest`` from end to end on made blocks, and the worker that measures the harness's overhead."""

import json
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.ab import selftest as selftest_command
from inflight.bench.measure import costs, interpreters
from inflight.bench.plan.trial import Trial
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.show import pictures
from tests.ab.test_decide import noise
from tests.cli.command import call
from tests.laboratory import Laboratory, only_run, sides
from tests.made_blocks import CPU_NS

LOOP_NS = 20
"""What an iteration of a planted loop costs in the laboratory."""
SD = 0.02
QUICK = ("selftest", "--quick")


@pytest.fixture
def _no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "save", lambda *_: [])


def machine(**more: Any) -> Callable[[Trial, bool], Iterable[Row]]:
    """Answer as a machine on which B is slower by the loops that are planted in it, and by ``more``."""

    def planted(trial: Trial) -> dict[str, Any]:
        loops = trial.arms[1].planted_loops or 0
        moved = noise(12, 0.0, SD)[(trial.round - 1) % 12] + math.log1p(loops * LOOP_NS / CPU_NS)
        return more | {"cpu": moved + more.get("cpu", 0.0)}

    return sides(planted)


def test_a_quiet_machine_has_no_alarm_and_finds_what_is_planted(laboratory: Laboratory, tmp_path: Path) -> None:
    laboratory.answer = machine()

    done = call(*QUICK, "--out", tmp_path, "--json")

    found, folder = json.loads(done.out), only_run(tmp_path)
    assert json.loads((folder / "selftest.json").read_text(encoding="utf-8")) | {"folder": str(folder)} == found
    assert (done.code, found["too_few"]) == (0, [])
    assert (found["dropped"]["tried"], found["dropped"]["left_out"]) == (48, 0)
    assert (found["false_alarms"]["real"]["alarms"], found["false_alarms"]["real"]["decisions"]) == (0, 2)
    for size, one in found["detection"].items():
        assert one["loops"] == pytest.approx(int(size) / 100 * CPU_NS / LOOP_NS, rel=0.02)
        assert math.expm1(one["seen"]) == pytest.approx(int(size) / 100, abs=0.002)
        assert (one["real"]["blocks"], one["real"]["alarms"], one["real"]["decisions"]) == (12, 1, 1)
    assert found["noise"]["callbacks"]["cpu_per_page"] == pytest.approx(SD, rel=0.03)
    assert found["block_s"]["callbacks"]["slices"] == 3.0
    assert found["overhead"] == {
        "with_ns": 400.0, "without_ns": 200.0, "loop_ns": LOOP_NS, "per_fetch_ns": 200.0,
        "share": pytest.approx(200 / CPU_NS, rel=0.01),
    }  # fmt: skip
    assert found["calls"] == {"same": "does the same", "planted": "does more"}
    assert found["server_ceiling_per_s"] == 100_000.0
    assert {row.workload.id for row in rows.read(folder)} >= {
        "compare/aa", "compare/planted-5", "compare/planted-10", "selftest/lateness",
    }  # fmt: skip
    assert {path.name for path in (folder / "plots").iterdir()} == {"selftest.png", "selftest.svg"}


@pytest.mark.usefixtures("_no_plots")
@pytest.mark.parametrize(
    ("more", "code", "alarms", "too_few", "reasons"),
    [
        ({"cpu": 0.1}, 1, (2, 2), [], {}),
        ({"cpu": -0.1}, 0, (0, 2), [], {}),
        ({"invalid": True}, 3, (0, 0), ["callbacks"], {"no hole": 72}),
        ({"failed": "B"}, 3, (0, 0), ["callbacks"], {"B: it broke": 72}),
    ],
)
def test_alarms_and_lost_blocks_have_their_exit_codes(
    laboratory: Laboratory, tmp_path: Path, more: dict[str, Any], code: int, alarms: tuple[int, int],
    too_few: list[str], reasons: dict[str, int],
) -> None:  # fmt: skip
    laboratory.answer = machine(**more)

    done = call(*QUICK, "--out", tmp_path, "--json")

    found = json.loads(done.out)
    real = found["false_alarms"]["real"]
    assert (done.code, (real["alarms"], real["decisions"]), found["too_few"]) == (code, alarms, too_few)
    assert found["dropped"]["reasons"] == reasons


def test_an_interrupted_self_test_keeps_its_rows(laboratory: Laboratory, tmp_path: Path) -> None:
    laboratory.answer, laboratory.interrupt_at = machine(), 1 + 3 * 5 + 1

    done = call(*QUICK, "--out", tmp_path)

    folder = only_run(tmp_path)
    assert (done.code, done.out) == (130, "")
    assert done.err.splitlines()[-1] == f"interrupted; rows kept in {folder}"
    assert {row.round for row in rows.read(folder)} == {1, 2, 3}, "each with four readings of memory"
    assert not (folder / "selftest.json").exists()


def test_the_cost_of_measuring_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "FETCHES", 10)
    monkeypatch.setattr(costs, "TURNS", 1)
    monkeypatch.setattr("gc.disable", lambda: None)

    assert costs.fetch_ns().keys() == {"with_ns", "without_ns", "loop_ns"}


def test_interpreters_of_sides_are_labelled_and_two_names_of_one_are_no_difference(tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    label = interpreters.ask(sys.executable).label

    one, two = selftest_command.Plan("callbacks", 24, 12), (sys.executable, str(tmp_path / "python"))
    named = replace(one, pythons=two)

    assert (one.to_dict()["interpreters"], one.differ) == ([], False)
    assert (named.to_dict()["interpreters"], named.differ) == ([label, label], False)
    assert [arm.python for arm in named.arms()] == list(two)
    assert [arm.python for arm in replace(one, pythons=two[:1]).arms()] == [sys.executable] * 2
