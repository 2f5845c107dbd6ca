"""``inflight run`` from end to end."""

import csv
import json
import re
from io import StringIO
from pathlib import Path

import pytest

from inflight import load as load_run
from inflight.bench.core import rows
from inflight.bench.core.experiment import load
from tests.cli.command import Done, inflight

TINY = """
strategies = ["callbacks", "thread_pool"]
[[memory]]
in_flight = [1, 2]
site = { links = 0 }
"""
TWO = ("--strategy", "callbacks", "--strategy", "thread_pool")
LATE = "strategies = ['callbacks']\ndeadline_s = 0.001\n[[crawl]]\npages = 5\n"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return path


def only_run(folder: Path) -> Path:
    (found,) = (folder / "results").iterdir()
    return found


@pytest.fixture(scope="module")
def smoke_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("smoke")


@pytest.fixture(scope="module")
def smoke(smoke_folder: Path) -> Done:
    return inflight("run", "smoke", *TWO, folder=smoke_folder, calm=True)


def test_a_run_ends_with_0_a_table_and_its_progress(smoke: Done) -> None:
    assert smoke.code == 0
    assert "strategy" in smoke.out
    for name in ("callbacks", "thread_pool"):
        assert name in smoke.out
    assert "/15  " not in smoke.out, "progress is talk"
    assert " 1/15  " in smoke.err
    assert "15/15  " in smoke.err
    assert "\x1b" not in smoke.out + smoke.err, "no colour where there is no terminal"


def test_a_run_leaves_its_folder(smoke: Done, smoke_folder: Path) -> None:
    folder = only_run(smoke_folder)

    names = {path.name for path in folder.iterdir()}
    assert {"experiment.toml", "machine.json", "rows.jsonl", "rows.csv", "plots"} <= names
    assert folder.name.endswith("-smoke")
    assert f"{folder.relative_to(smoke_folder)}/rows.jsonl" in smoke.err
    images = [path for path in (folder / "plots").iterdir() if path.suffix == ".png"]
    assert images
    for path in images:
        assert path.read_bytes().startswith(b"\x89PNG\r\n")
        assert path.with_suffix(".svg").is_file()
        assert f"{path.relative_to(smoke_folder)}" in smoke.err


def test_a_run_has_a_row_for_every_trial_and_arm(smoke: Done, smoke_folder: Path) -> None:
    folder = only_run(smoke_folder)
    found = rows.read(folder)
    listed = inflight("run", "smoke", *TWO, "--list", "--json").out

    assert [row.trial for row in found] == json.loads(listed)["rows"]
    assert {row.status for row in found} == {"ok"}
    assert {row.run for row in found} == {folder.name}
    table = list(csv.DictReader(StringIO((folder / "rows.csv").read_text(encoding="utf-8"))))
    assert len(table) == len(found) == 24


def test_the_experiment_is_kept_as_it_was_run(smoke: Done, smoke_folder: Path) -> None:
    kept = load(str(only_run(smoke_folder) / "experiment.toml"), ["callbacks", "thread_pool"])

    assert kept.strategies == ("callbacks", "thread_pool")
    assert kept.grids == load("smoke", ["callbacks"]).grids
    machine = json.loads((only_run(smoke_folder) / "machine.json").read_text(encoding="utf-8"))
    assert machine["command"][1:] == ["run", "smoke", *TWO]


def test_json_prints_the_summary(tiny: Path, tmp_path: Path) -> None:
    done = inflight("run", tiny, "--json", folder=tmp_path, calm=True)

    summary = json.loads(done.out)
    assert done.code == 0
    assert Path(tmp_path / summary["folder"]) == only_run(tmp_path)
    assert all((tmp_path / path).is_file() for path in summary["plots"])


def test_list_prints_a_grid_and_runs_nothing(tiny: Path, tmp_path: Path) -> None:
    done = inflight("run", tiny, "--list", folder=tmp_path)

    assert (done.code, done.err) == (0, "")
    first, _, study, *grid, _, legend = done.out.splitlines()
    assert re.fullmatch(r"tiny: 4 trials, about \d+ s", first)
    assert re.fullmatch(r"memory of fetches that the server holds: 4 trials, about \d+ s", study)
    assert [line.split() for line in grid] == [
        ["in", "flight", "1", "2"], ["callbacks", "1", "1"], ["thread_pool", "1", "1"],
    ]  # fmt: skip
    assert "rounds" in legend
    assert not (tmp_path / "results").exists()


def test_list_as_json_has_the_rows_in_the_order_of_the_run(tiny: Path) -> None:
    told = json.loads(inflight("run", tiny, "--list", "--json").out)

    assert (told["experiment"], told["trials"]) == ("tiny", 4)
    assert told["estimated_s"] > 0
    assert sorted(told["rows"]) == [
        f"memory/latency=0/in_flight={number}/keep-alive/{name}/round=1"
        for number in (1, 2)
        for name in ("callbacks", "thread_pool")
    ]


def test_rounds_seed_and_strategies_replace_those_of_the_experiment(tiny: Path) -> None:
    def listed(*options: str) -> list[str]:
        return list(json.loads(inflight("run", tiny, "--list", "--json", *options).out)["rows"])

    assert len(listed("--rounds", "3")) == 12
    assert {line.split("/")[-2] for line in listed("--strategy", "sequential", "--strategy", "generators")} == {
        "sequential",
        "generators",
    }
    orders = {tuple(listed("--seed", str(seed))) for seed in range(5)}
    assert len(orders) > 1
    assert listed("--seed", "5") == listed("--seed", "5")


def test_a_run_never_overwrites_another(tmp_path: Path) -> None:
    (tmp_path / "late.toml").write_text(LATE, encoding="utf-8")

    for _ in range(2):
        inflight("run", "late.toml", "--out", "other/place", folder=tmp_path)

    folders = list((tmp_path / "other" / "place").iterdir())
    assert len(folders) == 2
    assert [len(rows.read(folder)) for folder in folders] == [1, 1]


def test_a_run_without_a_valid_row_exits_with_1(tmp_path: Path) -> None:
    (tmp_path / "late.toml").write_text(LATE, encoding="utf-8")

    done = inflight("run", "late.toml", folder=tmp_path)

    assert done.code == 1
    assert [row.status for row in rows.read(only_run(tmp_path))] == ["timeout"]
    assert "callbacks" in done.out
    assert "timeout" in done.err.splitlines()[-1]


def test_a_report_without_a_valid_row_names_the_reason_and_a_folder_of_runs_a_run(tmp_path: Path) -> None:
    (tmp_path / "late.toml").write_text(LATE, encoding="utf-8")
    inflight("run", "late.toml", folder=tmp_path)
    folder = only_run(tmp_path)

    done = inflight("report", folder, "--format", "csv")

    assert (done.code, done.out.count("\n")) == (0, 2)
    assert "timeout" in done.err
    assert "answer()" in repr(load_run(folder))
    assert folder.name in inflight("report", "results", folder=tmp_path).sentence


def test_the_suggested_number_in_flight_runs(tiny: Path, tmp_path: Path) -> None:
    tiny.write_text(
        'strategies = ["callbacks", "native_asyncio", "thread_pool"]\n'
        "[[memory]]\nin_flight = [64]\nsite = { links = 0 }\n",
        encoding="utf-8",
    )

    inflight("run", tiny, folder=tmp_path, limit=("RLIMIT_NOFILE", 128))

    assert {row.reason for row in rows.read(only_run(tmp_path))} == {None}


def test_a_full_disk_is_one_sentence_and_finished_rows_are_kept(tiny: Path, tmp_path: Path) -> None:
    done = inflight("run", tiny, "--rounds", 2, folder=tmp_path, limit=("RLIMIT_FSIZE", 12_000))

    folder = only_run(tmp_path)
    assert done.code == 2
    assert done.out == ""
    *lines, last = done.err.splitlines()
    progress = [line for line in lines if "/8 " in line]
    kept = rows.read(folder)
    assert 1 <= len(kept) == len(progress) < 8
    assert last.startswith(f"inflight run: cannot write {folder.relative_to(tmp_path)}/rows.jsonl: File too large")
    assert "all earlier rows are saved" in last

    resumed = inflight("run", "--resume", folder, calm=True)

    assert resumed.code == 0
    assert len({row.trial for row in rows.read(folder)}) == len(rows.read(folder)) == 8


def test_a_full_disk_during_plots_is_one_sentence(tiny: Path, tmp_path: Path) -> None:
    done = inflight("run", tiny, "--strategy", "callbacks", folder=tmp_path, limit=("RLIMIT_FSIZE", 13_000))

    assert done.code == 2
    assert done.err.splitlines()[-1].startswith("inflight run: cannot write ")
    assert len(rows.read(only_run(tmp_path))) == 2


def test_output_that_cannot_be_encoded_is_no_error(tmp_path: Path) -> None:
    timed = "strategies = ['callbacks']\n[[throughput]]\nin_flight = [5]\ncycles = 1\n"
    (tmp_path / "timed.toml").write_text(timed, encoding="utf-8")

    done = inflight("run", "timed.toml", folder=tmp_path, calm=True, PYTHONIOENCODING="ascii")

    assert done.code == 0
    assert "?" in done.out, "or nothing needed encoding"
    assert "callbacks" in done.out


def test_a_disturbed_run_names_its_neighbour(tiny: Path, tmp_path: Path) -> None:
    done = inflight("run", tiny, "--disturbed", "spin", folder=tmp_path, calm=True)

    assert done.code == 0
    assert "Another program (spin) ran on the same cores for half of the time, on purpose (--disturbed)." in done.out
    assert only_run(tmp_path).name.endswith("-tiny-disturbed")
    assert json.loads((only_run(tmp_path) / "machine.json").read_text(encoding="utf-8"))["neighbour"] == "spin"


def test_a_resumed_run_has_the_neighbour_it_began_with(tiny: Path, tmp_path: Path) -> None:
    inflight("run", tiny, "--disturbed", "memory", folder=tmp_path, calm=True)

    done = inflight("run", "--resume", only_run(tmp_path), "--json", folder=tmp_path, calm=True)

    assert json.loads(done.out)["neighbour"] == "memory"
