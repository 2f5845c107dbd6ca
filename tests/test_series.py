"""A run of the series is stored compressed, with digests of the code that its figures depend on."""

import json
from pathlib import Path
from typing import Any

import pytest

from inflight.bench import api
from inflight.bench.frame import ratios
from inflight.bench.rows import files as rows
from tests.made_rows import MACHINE, block_rows
from tools import series


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with code of its own, in which the series is made of rows that stand in for a run."""

    def run(experiment: str, out: Path) -> api.Results:
        assert experiment == "series"
        number = len(rows.folders_in(out)) + 1
        folder = out / f"2026120{number}T000000000Z-here-series"
        folder.mkdir(parents=True)
        for row in block_rows():
            rows.append(folder, row)
        (folder / rows.MACHINE_FILE).write_text(json.dumps(MACHINE), "utf-8")
        (folder / "experiment.toml").write_text("rounds = 5\n", "utf-8")
        return api.load(folder)

    for pattern in {pattern for patterns in series.CODE.values() for pattern in patterns}:
        file = tmp_path / pattern.replace("**/*", "code")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("1\n", "utf-8")
    monkeypatch.setattr(series, "ROOT", tmp_path)
    listed = {
        "digests": {name: [digest] for name, digest in series.digests().items()},
        "cells": [],
        "runs": [],
    }
    (tmp_path / "between.json").write_text(json.dumps(listed), "utf-8")
    monkeypatch.setattr(ratios, "TABLE", tmp_path / "between.json")
    monkeypatch.setattr(series, "SERIES", tmp_path / "results" / "series")
    monkeypatch.setattr(api, "run", run)
    return tmp_path


def machine(folder: Path) -> Any:
    return json.loads((folder / rows.MACHINE_FILE).read_text("utf-8"))


def test_runs_are_stored_compressed_and_each_is_compared_with_those_before(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (series.main(), series.main()) == (0, 0)

    first, second = rows.folders_in(root / "results" / "series")
    assert {path.name for path in first.iterdir()} == {"rows.jsonl.xz", "machine.json", "experiment.toml"}
    assert rows.read(first) == rows.read(second) == block_rows()
    assert machine(first) == machine(second) == MACHINE | {"digests": series.digests()}
    told = capsys.readouterr().out
    assert told.count("Earlier runs of these workloads on this machine") == 1
    assert "is not listed" not in told


def test_code_that_the_table_does_not_list_is_named(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    series.main()
    before = series.digests()
    (root / "strategies" / "code.py").write_text("2\n", "utf-8")
    series.main()

    assert {name for name, digest in series.digests().items() if before[name] != digest} == {"strategies"}
    told = [line for line in capsys.readouterr().out.splitlines() if "is not listed" in line]
    assert [line.partition(":")[0] for line in told] == ["strategies"]
