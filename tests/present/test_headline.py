"""The table in README.md: made from a run, put between two marks, and checked."""

import json
from pathlib import Path

import pytest

from bench import rows
from bench.present import readme
from bench.present.readme import BEGIN, END, ReadmeError, headline_markdown
from bench.rows import Row
from tests.made_rows import MACHINE, crawl_row, grid, memory_rows


def run_folder(parent: Path, name: str, many: list[Row]) -> Path:
    folder = parent / name
    folder.mkdir(parents=True)
    for row in many:
        rows.append(folder, row)
    (folder / "machine.json").write_text(json.dumps(MACHINE), encoding="utf-8")
    return folder


@pytest.fixture
def page_with_marks(tmp_path: Path) -> Path:
    path = tmp_path / "README.md"
    path.write_text(f"# before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    return path


def test_it_has_the_tables_of_the_section_of_throughput() -> None:
    text = headline_markdown([*grid(["one"], caps=(100,)), *grid(["client"], caps=(100,), stack="own")], MACHINE)
    lines = [line for line in text.splitlines() if line.startswith("|")]

    assert lines == [
        "| strategy | CPU per page | ratio to one (95 %) |",
        "|---|---:|---:|",
        "| one | 20 µs ±3 % | reference |",
        "| with an HTTP stack of their own |  |  |",
        "| client | 20 µs ±3 % | 1.00x (0.99 to 1.01) |",
        "| strategy | no added latency, 100 in flight | 50 ms, 100 in flight |",
        "|---|---:|---:|",
        "| one | 51,000 ±6 % | 2,000 ±6 % |",
        "| with an HTTP stack of their own |  |  |",
        "| client | 51,000 ±6 % | 2,000 ±6 % |",
    ]


def test_it_says_how_where_and_when_it_was_made() -> None:
    text = headline_markdown([crawl_row()], MACHINE)

    assert text.startswith(
        "Made by `inflight run quick` on Imaginary 9000, 4 cores, Linux 6.1, CPython 3.11.7, 2026-01-02, inflight 0.1.0"
    )
    assert "- One round: by how much another would differ is unknown" in text


def test_paths_of_the_machine_do_not_reach_the_readme() -> None:
    machine = MACHINE | {"command": ["/home/me/bin/inflight", "run", "/home/me/crawl.toml", "--out", "results"]}

    assert "`inflight run crawl.toml --out results`" in headline_markdown([crawl_row()], machine)


def test_names_are_shown_as_they_are() -> None:
    text = headline_markdown([crawl_row("a|b*c_$x^{2}$<b>&`")], MACHINE)

    assert r"| a\|b\*c\_\$x^\{2\}\$&lt;b&gt;&amp;\` |" in text


def test_unlike_settings_get_tables_of_their_own() -> None:
    text = headline_markdown([crawl_row(), crawl_row(connection="per-fetch"), *memory_rows()], MACHINE)

    assert "**Pages per second, keep-alive connections**" in text
    assert "**Pages per second, per-fetch connections**" in text


def test_it_is_written_between_the_marks_and_then_up_to_date(tmp_path: Path, page_with_marks: Path) -> None:
    folder = run_folder(tmp_path, "run", grid(["one"]))
    arguments = [str(folder), "--readme", str(page_with_marks)]

    assert readme.main([*arguments, "--check"]) == 1
    assert readme.main(arguments) == 0
    assert readme.main([*arguments, "--check"]) == 0

    text = page_with_marks.read_text(encoding="utf-8")
    assert text.startswith(f"# before\n{BEGIN}\nMade by")
    assert text.endswith(f"\n{END}\nafter\n")
    assert "old" not in text


def test_check_writes_nothing(tmp_path: Path, page_with_marks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = page_with_marks.read_text(encoding="utf-8")

    assert readme.main([str(run_folder(tmp_path, "run", grid())), "--readme", str(page_with_marks), "--check"]) == 1
    assert page_with_marks.read_text(encoding="utf-8") == before
    assert "not up to date; run `make readme`" in capsys.readouterr().err


def test_the_newest_run_is_taken(tmp_path: Path) -> None:
    for name in ("20260101T000000000Z-b-quick", "20260301T000000000Z-a-quick", "20260201T000000000Z-c-quick"):
        run_folder(tmp_path, name, [crawl_row()])

    assert readme.newest(tmp_path).name == "20260301T000000000Z-a-quick"
    assert readme.newest(run_folder(tmp_path, "own", [crawl_row()])) == tmp_path / "own"


def test_no_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(ReadmeError, match="no run in"):
        readme.newest(tmp_path)


@pytest.mark.parametrize("text", ["", BEGIN, f"{END}\n{BEGIN}", f"{BEGIN}{BEGIN}{END}"])
def test_a_readme_without_its_marks_is_left_alone(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "README.md"
    path.write_text(text, encoding="utf-8")

    assert readme.main([str(run_folder(tmp_path, "run", grid())), "--readme", str(path)]) == 1
    assert path.read_text(encoding="utf-8") == text
    assert "README.md needs the line" in capsys.readouterr().err


def test_files_that_are_not_there_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert readme.main([str(tmp_path / "none")]) == 1
    assert "is not a run" in capsys.readouterr().err

    assert readme.main([str(run_folder(tmp_path, "run", grid())), "--readme", str(tmp_path / "no.md")]) == 1
    assert "no.md: No such file" in capsys.readouterr().err


def test_the_newest_run_of_an_experiment_is_the_one_that_is_quoted(tmp_path: Path) -> None:
    for name in ("20260101T0-host-quick", "20260102T0-host-quick", "20260103T0-host-memory"):
        run_folder(tmp_path, name, [crawl_row()])

    assert readme.newest(tmp_path).name == "20260102T0-host-quick"
    assert readme.newest(tmp_path, "memory").name == "20260103T0-host-memory"
    assert readme.newest(tmp_path, "claims").name == "20260103T0-host-memory", "the newest of all, where there is none"


def test_other_parts_are_of_other_runs_and_only_where_their_marks_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_folder(tmp_path / "results/reference", "20260101T0-host-quick", [crawl_row()])
    memory = run_folder(tmp_path / "results/reference", "20260103T0-host-memory", [memory_rows()[0]])
    (memory / "plots").mkdir()
    (memory / "plots" / "layers.svg").write_text("<svg/>", encoding="utf-8")
    page = tmp_path / "README.md"
    marks = "<!-- memory: begin -->\nold\n<!-- memory: end -->\n"
    page.write_text(f"{BEGIN}\nold\n{END}\n{marks}", encoding="utf-8")

    assert readme.main([]) == 0

    text = page.read_text(encoding="utf-8")
    assert "![Memory per task, in layers](results/reference/20260103T0-host-memory/plots/layers.svg)" in text
    assert "claims" not in text
    assert readme.main(["--check"]) == 0


def test_a_run_of_claims_without_its_verdicts_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_folder(tmp_path / "results/reference", "20260101T0-host-claims", [crawl_row()])
    marks = "<!-- claims: begin -->\n<!-- claims: end -->\n"
    (tmp_path / "README.md").write_text(f"{BEGIN}\nold\n{END}\n{marks}", encoding="utf-8")

    assert readme.main([]) == 1

    assert "claims.json" in capsys.readouterr().err
