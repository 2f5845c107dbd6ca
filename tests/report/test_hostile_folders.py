"""The folder of a stranger: nothing is written outside of it, only regular files of a bounded size are read."""

import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import inflight
from inflight.bench.commands import run as commands
from inflight.bench.measure import run as runs
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import RowsError
from inflight.bench.show import folder as folders
from inflight.bench.show.studies import Studies
from inflight.bench.show.summary import earlier
from tests.cli.command import ENVIRONMENT, INFLIGHT, call
from tests.made_rows import MACHINE, block_rows, crawl_row, grid
from tests.report.test_hostile_rows import stored_lines
from tests.runs.made_runs import saved
from tools import series

Change = Callable[[Path], None]
FORMS = ("terminal", "md", "json", "html")
BESIDE = ("machine.json", "experiment.toml", "selftest.json", "claims.json", "verdict.json", "compare.json")
EXPERIMENT = 'strategies = ["callbacks"]\n[[crawl]]\nlatency = ["1ms"]\nin_flight = [1]\nsite = {pages = 5}\n'
ROWS = [*block_rows({"callbacks": 20_000, "generators": 24_000}), *grid(latencies=("50ms",), caps=(1, 10), rounds=1)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return the folder of a run; beside it is a ``secret``."""
    (tmp_path / "secret").write_text("precious", encoding="utf-8")
    return made_run(tmp_path / "20261202T000000000Z-here-tiny")


def made_run(folder: Path) -> Path:
    return saved(folder, ROWS, experiment=EXPERIMENT)


def untouched(run: Path) -> bool:
    return (run.parent / "secret").read_text(encoding="utf-8") == "precious"


# Writing


def link(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("../secret")


@pytest.mark.ci
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("report.html", ("report",)),
        ("rows.parquet", ("report", "--format", "parquet")),
        ("race.html", ("race",)),
    ],
)
def test_a_command_replaces_a_link_and_leaves_what_it_leads_to(name: str, words: tuple[str, ...], run: Path) -> None:
    link(run / name)

    assert call(*words, run).code == 0

    assert untouched(run)
    assert not (run / name).is_symlink()
    assert (run / name).stat().st_size > 1000


def test_plots_are_not_drawn_into_a_folder_elsewhere(run: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (run / "plots").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(runs.RunError, match="plots is a link to another place; remove the link"):
        commands.save(run, Studies(rows.read(run), run))

    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_link_in_the_folder_is_no_file_for_output(run: Path) -> None:
    link(run / "report.md")

    done = call("report", run, "--format", "md", "--output", run / "report.md")

    assert "is a link in the folder of the run; remove it, or name another file" in done.sentence
    assert untouched(run)


def test_rows_are_neither_appended_nor_cut_through_a_link(run: Path) -> None:
    link(run / "rows.jsonl")

    with pytest.raises(OSError, match="put the file itself in its place"):
        rows.append(run, crawl_row())
    with pytest.raises(OSError, match="put the file itself in its place"):
        rows.drop_unfinished(run)

    assert "cannot read" in call("run", "--resume", run).sentence
    assert untouched(run)


@pytest.mark.ci
def test_a_link_that_the_user_names_is_followed(run: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(run)
    (tmp_path / "rows").symlink_to(run / "rows.jsonl")

    assert call("report", tmp_path / "latest", "--format", "md").code == 0
    assert call("report", tmp_path / "latest").code == 0
    assert (run / "report.html").is_file()
    assert rows.read(tmp_path / "rows") == ROWS


def test_the_newest_run_is_not_behind_a_link(run: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    (results / "20261203T000000000Z-here-tiny").symlink_to(run)

    with pytest.raises(RowsError, match="no run in"):
        rows.newest(results)


# Reading


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def zeros(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def hole(path: Path) -> None:
    """Make a file that takes no space and is too large to be read."""
    with path.open("wb") as file:
        file.truncate(1 << 40)


def bomb(run: Path) -> None:
    """Put a file of some 500 kB in the place of the rows, that unpacks to 3 GB."""
    (run / "rows.jsonl").unlink()
    (run / "rows.jsonl.xz").write_bytes(200 * lzma.compress(bytes(16 << 20), preset=0))


ODD = {"pipe": pipe, "zeros": zeros, "folder": folder, "link": link, "hole": hole}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_rows_that_are_no_file_are_refused(odd: Change, form: str, run: Path) -> None:
    odd(run / "rows.jsonl")

    sentence = call("report", run, "--format", form).sentence
    assert "put the file itself in its place" in sentence or "no run is that long" in sentence


@pytest.mark.parametrize("name", ["rows.jsonl", "machine.json", "experiment.toml"])
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_run_with_a_file_that_is_none_is_not_continued(odd: Change, name: str, run: Path) -> None:
    odd(run / name)

    assert name in call("run", "--resume", run).sentence


@pytest.mark.parametrize("name", [*BESIDE[2:], *BESIDE[:2]])
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_file_beside_the_rows_that_is_none_is_named(odd: Change, name: str, run: Path) -> None:
    odd(run / name)

    _, extras = folders.read(run)

    (sentence,) = extras.missing
    assert sentence.startswith(f"{name} cannot be read: it is ")


@pytest.mark.ci
@pytest.mark.parametrize("form", FORMS)
def test_every_output_is_made_without_the_files_that_are_none(form: str, run: Path) -> None:
    for name, odd in zip(BESIDE, (pipe, link, zeros, folder, hole, pipe), strict=True):
        odd(run / name)

    done = call("report", run, "--format", form, "--output", run.parent / "out")

    assert done.code == 0
    assert "precious" not in (run.parent / "out").read_text(encoding="utf-8")


def test_compressed_rows_that_are_no_file_are_refused(run: Path) -> None:
    (run / "rows.jsonl").unlink()
    pipe(run / "rows.jsonl.xz")

    assert "rows.jsonl.xz (it is a link, a pipe" in call("report", run).sentence


@pytest.mark.parametrize("words", [*(("report", "--format", form) for form in FORMS), ("race",), ("compare", ".")])
def test_a_small_file_that_unpacks_to_gigabytes_is_refused_early(words: tuple[str, ...], run: Path) -> None:
    bomb(run)

    assert "holds more than 256 MiB of rows, or 16 MiB in one" in call(*words, run, folder=run).sentence


@pytest.mark.parametrize("is_packed", [False, True])
def test_the_text_of_all_rows_is_bounded(is_packed: bool, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_packed:
        series.pack(run)
    size = len(rows.text(run))
    monkeypatch.setattr(rows, "MAX_TEXT_BYTES", size)
    assert rows.read(run) == ROWS

    monkeypatch.setattr(rows, "MAX_TEXT_BYTES", size - 1)
    with pytest.raises(RowsError, match="no run is that long"):
        rows.read(run)


@pytest.mark.parametrize("text", ["a = " + 3000 * "[" + 3000 * "]", "a = " + 5000 * "1", "a = \x00"])
def test_an_experiment_that_cannot_be_parsed_is_shown_and_not_continued(text: str, run: Path) -> None:
    (run / "experiment.toml").write_text(text, encoding="utf-8")

    assert call("report", run).code == 0
    assert "experiment.toml is not TOML" in call("run", "--resume", run).sentence


@pytest.mark.parametrize("value", [10**400, [1], {"a": 1}, "much"], ids=lambda value: str(value)[:9])
def test_a_machine_with_an_impossible_memory_is_refused_where_machines_are_compared(value: Any, run: Path) -> None:
    (run / "machine.json").write_text(json.dumps(MACHINE | {"memory_bytes": value}), encoding="utf-8")

    assert "does not describe a machine" in call("compare", run, run).sentence
    with pytest.raises(RowsError, match="does not describe a machine"):
        inflight.load(run)
    values, _ = folders.read(run)
    assert folders.machine_section(rows.read(run), values).tables


def test_names_of_files_are_no_runs_in_a_folder(run: Path) -> None:
    assert rows.folders_in(run) == []
    assert rows.folders_in(run.parent) == [run]
    assert rows.folders_in(run.parent / "absent") == []


# Neighbours and names


NEIGHBOURS: dict[str, Change] = {
    **{f"{name} {kind}": lambda run, name=name, odd=odd: odd(run / name)  # type: ignore[misc]
       for name in ("rows.jsonl", "machine.json") for kind, odd in ODD.items()},
    "memory": lambda run: rows.write(run / "machine.json", json.dumps(MACHINE | {"memory_bytes": [1]})),
    "rubbish": lambda run: rows.write(run / "rows.jsonl", b"\xff\n"),
}  # fmt: skip


@pytest.mark.parametrize("change", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_a_bad_neighbour_is_skipped(change: Change, run: Path, tmp_path: Path) -> None:
    made_run(tmp_path / "20261130T000000000Z-here-tiny")
    change(made_run(tmp_path / "20261201T000000000Z-here-tiny"))

    compared = earlier(Studies(rows.read(run), run))

    assert compared is not None
    assert {line[-1] for line in compared.tables[0].lines if isinstance(line, tuple)} == {"1"}


@pytest.mark.parametrize("name", ["x-**", "x-a**b", "x-[", "x-?", "-**", "x-*"])
def test_the_name_of_a_folder_is_no_pattern(name: str, tmp_path: Path) -> None:
    made_run(tmp_path / "20261130T000000000Z-here-tiny")
    run = made_run(tmp_path / name)

    compared = earlier(Studies(rows.read(run), run))

    assert compared is not None
    assert {line[-1] for line in compared.tables[0].lines if isinstance(line, tuple)} == {"1"}


@pytest.mark.ci
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["callbacks", "$x^2$ [bold] <b>", f"{300 * 'x'}{{}}"], ids=["same", "signs", "long"])
def test_rows_whose_strategies_have_one_name_as_it_is_shown_have_every_output(
    name: str, form: str, tmp_path: Path
) -> None:
    lines = [json.loads(line) for line in stored_lines()]
    chosen = [line for line in lines if line["run"].endswith(("-race", "-memory"))]
    (tmp_path / rows.ROWS_FILE).write_text(
        "".join(json.dumps(line | {"strategy": name.format(line["strategy"])}) + "\n" for line in chosen),
        encoding="utf-8",
    )

    assert call("report", tmp_path, "--format", form).code == 0


# All kinds, in processes whose memory is measured

MAX_RSS_BYTES = 1_200_000_000


def lead_out(run: Path) -> None:
    """Make a link of each name that a command writes, and leave one trial to be run."""
    (run / "rows.jsonl").write_text("", encoding="utf-8")
    for name in ("report.html", "rows.csv", "rows.parquet", "race.html"):
        link(run / name)
    (run / "plots").symlink_to("../elsewhere")


HOSTILE: dict[str, Change] = {
    "links": lead_out,
    "rows are a device": lambda run: zeros(run / "rows.jsonl"),
    "rows are a hole": lambda run: hole(run / "rows.jsonl"),
    "rows unpack to gigabytes": bomb,
    "machine is a hole": lambda run: hole(run / "machine.json"),
    "experiment is a device": lambda run: zeros(run / "experiment.toml"),
    "a neighbour unpacks to gigabytes": lambda run: bomb(made_run(run.with_name("20261201T000000000Z-here-tiny"))),
    "x-**": lambda _run: None,
    "[a]": lambda _run: None,
}
"""The changes that make a folder hostile; a name with signs of a pattern is that of the folder itself."""


def peak_bytes(*words: object) -> tuple[int, int]:
    """Run the command in a process; return its exit code, and the most memory that it had."""
    process = subprocess.Popen([*INFLIGHT, *map(str, words)], stdin=subprocess.DEVNULL, env=ENVIRONMENT)
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss * 1024


def outside(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return time and bytes of each file beside the runs."""
    paths = [path for top in ("secret", "elsewhere") for path in (folder / top, *(folder / top).glob("*"))]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"") for path in paths}


@pytest.mark.ci
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kB on Linux only")
@pytest.mark.parametrize("name", HOSTILE)
def test_no_hostile_folder_reaches_outside_or_takes_the_memory(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("precious", encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "times.png").write_text("precious", encoding="utf-8")
    run = made_run(tmp_path / (name if set(name) & set("*[") else "20261202T000000000Z-here-tiny"))
    HOSTILE[name](run)
    before = outside(tmp_path)

    for words in (*(("report", "--format", form) for form in (*FORMS, "csv")), ("run", "--resume")):
        code, peak = peak_bytes(*words, run)

        assert code in {0, 2}, words
        assert peak < MAX_RSS_BYTES, words
        assert outside(tmp_path) == before, words
