"""``inflight compare`` from end to end: verdicts as exit codes, what is printed and written, and what is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.rows import files as rows
from inflight.bench.rows.files import MACHINE_FILE
from inflight.bench.rows.records import changed
from inflight.bench.studies.stored.command import JSON_FILE, MARKDOWN_FILE
from tests.cli.command import call
from tests.compare.made_runs import noisy_run, saved, slowed
from tests.made_rows import MACHINE, block_rows, crawl_row

REFERENCE = Path(__file__).parent.parent.parent / "results" / "reference"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return saved(tmp_path / "base", noisy_run(1))


@pytest.fixture
def head(tmp_path: Path) -> Path:
    return saved(tmp_path / "head", noisy_run(2))


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    return saved(tmp_path / "slow", slowed(noisy_run(2), 1.3))


def test_no_change_passes(base: Path, head: Path) -> None:
    done = call("compare", base, head)

    assert done.code == 0, done
    assert done.out.startswith("Pass: all 14 gated figures are less than 10 % worse.\n")
    assert "not paired" in done.out
    assert done.err == ""


def test_a_slowdown_is_exit_code_1(base: Path, slow: Path) -> None:
    done = call("compare", base, slow)

    assert done.code == 1
    assert done.out.startswith("Regression: CPU per page of callbacks")
    assert max(map(len, done.out.splitlines())) <= 100


def test_noise_is_exit_code_3(tmp_path: Path) -> None:
    sides = [saved(tmp_path / str(seed), noisy_run(seed, sd=0.5)) for seed in (1, 2)]

    assert call("compare", *sides).code == 3


def test_json_is_one_object_on_standard_output(base: Path, slow: Path) -> None:
    done = call("compare", base, slow, "--json")

    found = json.loads(done.out)
    worse = [one for one in found["cells"] if one["verdict"] == "regression"]
    assert (done.code, found["verdict"], found["paired"]) == (1, "regression", False)
    assert {one["strategy"] for one in worse} == {"callbacks"}
    assert all(one["low"] < one["worse"] < one["high"] and one["at_least"] > 1.05 for one in worse)
    assert done.err.startswith("Regression: ")


def test_markdown_is_a_table_that_is_added_to_a_file(base: Path, slow: Path, tmp_path: Path) -> None:
    (tmp_path / "summary.md").write_text("before\n", encoding="utf-8")

    call("compare", base, slow, "--markdown", tmp_path / "summary.md")

    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("before\n# Comparison of stored runs\n\n**Regression: ")
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in tables} == {8}


def test_files_are_written_only_when_asked_for(base: Path, head: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    call("compare", base, head, folder=tmp_path)
    assert sorted(tmp_path.rglob("*")) == before

    done = call("compare", base, head, "--out", tmp_path / "new" / "out")

    written = {path.name for path in (tmp_path / "new" / "out").iterdir()}
    assert written == {JSON_FILE, MARKDOWN_FILE, "forest.png", "forest.svg"}
    assert json.loads((tmp_path / "new" / "out" / JSON_FILE).read_text(encoding="utf-8"))["verdict"] == "pass"
    assert done.err.count("written: ") == 4


def test_unlike_machines_are_refused_unless_asked_for(base: Path, tmp_path: Path) -> None:
    other = saved(tmp_path / "other", slowed(noisy_run(2), 2), MACHINE | {"cores": 8, "cpu": "Other"})

    assert call("compare", base, other).sentence == (
        "the machines differ in cpu (Imaginary 9000 / Other), cores (4 / 8); --unlike compares them anyway, "
        "without a verdict on times"
    )

    done = call("compare", base, other, "--unlike")

    assert done.code == 3
    assert "The machines differ (cpu Imaginary 9000 / Other; cores 4 / 8)" in done.out
    assert "REGRESSION" not in done.out


# Arms of blocks


def blocks(folder: Path, costs: dict[str, int]) -> Path:
    return saved(folder, [changed(row, run=folder.name) for row in block_rows(costs)])


def test_runs_of_blocks_are_compared_by_strategy_and_placebos_are_none(tmp_path: Path) -> None:
    base = blocks(tmp_path / "base", {"callbacks": 20_000, "generators": 24_000})
    head = blocks(tmp_path / "head", {"callbacks": 20_000, "generators": 32_000})

    done = call("compare", base, head, "--json")

    found = json.loads(done.out)
    assert (done.code, found["verdict"]) == (1, "regression")
    assert {(one["strategy"], one["metric"], one["verdict"]) for one in found["cells"]} == {
        (name, metric, verdict)
        for name, verdict in (("callbacks", "pass"), ("generators", "regression"))
        for metric in ("cpu_per_page_ns", "pages_per_s")
    }
    assert found["one_sided"] == []


def test_a_strategy_is_the_same_whatever_it_was_compared_with_in_its_blocks(tmp_path: Path) -> None:
    base = blocks(tmp_path / "base", {"callbacks": 20_000, "generators": 24_000})
    head = blocks(tmp_path / "head", {"generators": 24_000})

    found = json.loads(call("compare", base, head, "--json").out)

    assert found["verdict"] == "pass"
    assert {one["strategy"] for one in found["cells"]} == {"generators"}


# A real run against an edited copy


def edited(run: Path, folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Copy a run, with each row changed in place."""
    folder.mkdir()
    shutil.copy(run / MACHINE_FILE, folder)
    many = [json.loads(line) for line in rows.text(run).splitlines()]
    for row in many:
        change(row)
    (folder / rows.ROWS_FILE).write_text("".join(json.dumps(row) + "\n" for row in many), encoding="utf-8")
    return folder


def newest_quick() -> Path:
    return max(REFERENCE.glob("*-quick"))


def test_a_real_run_with_one_strategy_made_slower_is_a_regression_of_that_strategy(tmp_path: Path) -> None:
    def slower(row: dict[str, Any]) -> None:
        if row["strategy"] == "callbacks":
            for key in ("cpu_per_page_ns", "cpu_user_ns", "cpu_system_ns"):
                if key in row["measured"]:
                    row["measured"][key] = round(2 * row["measured"][key])

    done = call("compare", newest_quick(), edited(newest_quick(), tmp_path / "slow", slower), "--json")

    worse = [one for one in json.loads(done.out)["cells"] if one["verdict"] == "regression"]
    assert done.code == 1
    assert {(one["strategy"], one["metric"]) for one in worse} == {("callbacks", "cpu_per_page_ns")}
    assert all(one["worse"] == pytest.approx(2, rel=1e-3) for one in worse)


def test_a_real_run_and_its_copy_are_no_regression(tmp_path: Path) -> None:
    done = call("compare", newest_quick(), edited(newest_quick(), tmp_path / "copy", lambda _: None))

    assert done.code == 3
    assert "with such trials cannot pass" in done.out


# Bad input


def test_a_half_written_last_line_is_left_out(base: Path, head: Path) -> None:
    with (head / rows.ROWS_FILE).open("a", encoding="utf-8") as file:
        file.write('{"run": "half')

    assert call("compare", base, head).code == 0


def save_newer(folder: Path) -> None:
    newer = json.loads(crawl_row().to_json()) | {"format": rows.FORMAT + 1}
    (saved(folder, []) / rows.ROWS_FILE).write_text(json.dumps(newer) + "\n", "utf-8")


def test_a_report_that_cannot_be_written_is_one_sentence(base: Path, head: Path) -> None:
    done = call("compare", base, head, "--markdown", base / "missing" / "report.md")

    assert (done.code, done.err.strip().splitlines()[-1]) == (
        2,
        f"inflight compare: cannot write {base / 'missing' / 'report.md'}: No such file or directory",
    )


def test_a_folder_that_cannot_be_written_is_refused_after_the_comparison(
    base: Path, head: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()

    done = call("compare", base, head, "--out", tmp_path / "file" / "out")

    assert done.code == 2
    assert f"cannot write {tmp_path / 'file' / 'out'}" in done.err
    assert done.out.startswith("Pass: ")
