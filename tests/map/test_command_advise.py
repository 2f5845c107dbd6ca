"""``inflight advise`` from a folder of results to its answer."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from bench import advise_command, rows
from bench.advise_command import AdviseError, Asked
from bench.maps import MapError
from bench.measure import host
from bench.rows import Row, RowsError
from tests.cli.command import inflight
from tests.made_rows import memory_rows
from tests.map.made_maps import MODELS, map_rows

DOCS = Path(__file__).parents[2] / "docs" / "decisions.md"


@pytest.fixture(scope="module")
def machine() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(host.machine()))
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, machine: dict[str, Any]) -> Path:
    """Make a folder of results with a map of this machine, and newer runs that are none or are of another machine."""
    out = tmp_path_factory.mktemp("results")
    store(out / "reference" / "20260101T000000000Z-here-map", map_rows(noise=0.015), machine)
    plain = map_rows(works=("0",), latencies=("0", "10ms"), caps=(1, 10, 100), noise=0.01)
    store(out / "20260102T000000000Z-here-quick", plain, machine)
    memory = [row for name in MODELS for row in memory_rows(name, 20_000)]
    store(out / "20260103T000000000Z-here-memory", memory, machine)
    store(out / "20260104T000000000Z-there-map", map_rows(), machine | {"cpu": "Other 1"})
    store(out / "20260105T000000000Z-here-broken", [], machine)
    (out / "20260105T000000000Z-here-broken" / rows.ROWS_FILE).write_text("{}\n", encoding="utf-8")
    return out


def store(folder: Path, found: Iterable[Row], machine: dict[str, Any]) -> Path:
    folder.mkdir(parents=True)
    (folder / rows.ROWS_FILE).touch()
    for row in found:
        rows.append(folder, row)
    (folder / "machine.json").write_text(json.dumps(machine), encoding="utf-8")
    return folder


def asked(out: Path, **changes: Any) -> Asked:
    values: dict[str, Any] = {"latency": "30ms", "cpu": "0", "in_flight": 60, "run": None, "verify": False}
    return Asked(**(values | {"as_json": False, "out": out} | changes))


def told(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_it_advises_by_a_whole_map_before_a_newer_run_that_reaches_the_workload_too(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert advise_command.run(asked(results, cpu="2ms")) == 0
    text = told(capsys)

    assert text.startswith("Take ")
    assert "20260101T000000000Z-here-map" in text
    assert "20260103T000000000Z-here-memory" in text
    assert advise_command.run(asked(results, latency="5ms")) == 0
    assert "20260101T000000000Z-here-map" in told(capsys)


def test_outside_of_every_map_it_does_not_know(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert advise_command.run(asked(results, latency="2s")) == 3
    assert told(capsys).startswith("I do not know what to take for 2 s latency, no CPU work, 60 in flight")


def test_a_map_of_another_machine_is_used_only_when_named_and_said(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert advise_command.run(asked(results, run=results / "20260104T000000000Z-there-map")) == 0
    text = told(capsys)

    assert "That run is of another machine: cpu Other 1, here " in text
    assert "Memory: not measured on this machine" in text


def test_a_map_knows_its_own_memory_before_that_of_other_runs(
    tmp_path: Path, machine: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    own = [*map_rows(noise=0.01), *(row for name in MODELS for row in memory_rows(name, 50_000))]
    store(tmp_path / "20260101T000000000Z-here-map", own, machine)
    store(tmp_path / "20260102T000000000Z-here-memory", memory_rows("callbacks", 9_000), machine)

    assert advise_command.run(asked(tmp_path, as_json=True)) == 0
    found = json.loads(capsys.readouterr().out)

    assert Path(found["memory_run"]).name == "20260101T000000000Z-here-map"
    assert found["models"][0]["memory_bytes"] == pytest.approx(60 * 50_000, rel=0.02)


def test_the_json_has_what_the_documentation_explains(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    advise_command.run(asked(results, cpu="2ms", as_json=True))
    found = json.loads(capsys.readouterr().out)

    documented = set(re.findall(r"^\| `(\w+)` \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE))
    model = found["models"][0]
    keys = {*found, *model, *model["formula"], *model["nearest"][0]}
    verified = {"folder", "off", "expected_pages_per_s", "measured_pages_per_s", "why"}
    assert keys | verified == documented
    assert (found["latency_ns"], found["cpu_ns"], found["in_flight"]) == (30_000_000, 2_000_000, 60)
    assert found["advised"] in found["alike"]
    assert found["verified"] is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"latency": "80"}, '--latency: "80" is not a delay of at most 60 s; write one of: '),
        ({"latency": "61s"}, '--latency: "61s" is not a delay of at most 60 s'),
        (
            {"cpu": "2 minutes"},
            '--cpu: "2 minutes" is not a duration; write a number and ns, us, ms or s, such as 50ms',
        ),
        ({"cpu": "2s"}, "--cpu must be at most 1s, not '2s'"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(changes: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(AdviseError) as refused:
        advise_command.run(asked(tmp_path, **changes))

    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_without_a_map_of_this_machine_it_says_what_makes_one(tmp_path: Path, machine: dict[str, Any]) -> None:
    store(tmp_path / "20260104T000000000Z-there-map", map_rows(rounds=1), machine | {"usable_cores": 99})

    with pytest.raises(MapError) as refused:
        advise_command.run(asked(tmp_path))
    assert str(refused.value) == f"no map of this machine in {tmp_path}; make one with `inflight run map`"
    with pytest.raises(MapError):
        advise_command.run(asked(tmp_path / "nowhere"))


def test_a_run_that_is_named_must_be_a_map(tmp_path: Path, machine: dict[str, Any]) -> None:
    memory = store(tmp_path / "memory", memory_rows(), machine)

    with pytest.raises(MapError, match=r"is no map: it has no valid crawls at several latencies"):
        advise_command.run(asked(tmp_path, run=memory))
    with pytest.raises(RowsError, match=r"is not a run: cannot read rows\.jsonl"):
        advise_command.run(asked(tmp_path, run=tmp_path / "nothing"))


def test_a_map_without_its_machine_is_used_when_named_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = store(tmp_path / "a-map", map_rows(noise=0.01), {})
    (folder / "machine.json").unlink()

    assert advise_command.run(asked(tmp_path, run=folder)) == 0
    assert "That run is of another machine: cpu unknown, here " in told(capsys)


def test_the_command_refuses_and_answers_with_its_exit_code(tmp_path: Path, results: Path) -> None:
    refused = inflight("advise", "--latency", "1ms", "--in-flight", 3, "--out", tmp_path)
    unknown = inflight("advise", "--latency", "9s", "--in-flight", 3, "--out", results, "--json")

    assert refused.sentence == f"no map of this machine in {tmp_path}; make one with `inflight run map`"
    assert unknown.code == 3
    assert json.loads(unknown.out)["advised"] is None


@pytest.mark.long
def test_verify_measures_that_very_workload_and_says_how_far_off_it_was(
    tmp_path: Path, machine: dict[str, Any]
) -> None:
    store(tmp_path / "20260101T000000000Z-here-map", map_rows(noise=0.01), machine)

    done = inflight(
        "advise", "--latency", "20ms", "--cpu", "100us", "--in-flight", 4, "--verify", "--json", "--out", tmp_path
    )

    found = json.loads(done.out)
    (folder,) = [path for path in tmp_path.iterdir() if path.name.endswith("-advise")]
    measured = rows.read(folder)
    assert found["verified"]["folder"] == str(folder)
    assert {row.strategy for row in measured} == {one["strategy"] for one in found["verified"]["models"]}
    assert len(measured) == 6
    assert {(row.workload["latency"], row.workload["cpu"], row.workload["in_flight"]) for row in measured} == {
        ("20ms", "100us", 4)
    }
    off = found["verified"]["off"]
    assert done.code == (0 if off is not None and off <= 0.1 else 3)
    if off is not None:  # nothing was red: four at a time and 20 ms, whatever the machine is busy with
        assert found["verified"]["models"][0]["expected_pages_per_s"] == pytest.approx(197, rel=0.05)
