"""``inflight report``: every format, its default place, and one sentence for what cannot be."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from inflight.bench.commands import report as report_command
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.show.studies import Studies
from inflight.bench.show.summary import print_summary
from tests.cli.command import call
from tests.made_rows import crawl_row, grid
from tests.report.parsed_page import check
from tests.runs.made_runs import saved

ROWS = grid(latencies=("50ms",), caps=(1, 10), rounds=1)


def report(folder: Path | None, form: str, out: Path | None = None, results: Path = Path("results")) -> int:
    return report_command.run(folder=folder, form=form, out=out, results=results)


def test_the_page_of_the_newest_run_is_written_into_its_folder(tmp_path: Path) -> None:
    saved(tmp_path / "20260101T000000000Z-host-old", ROWS)
    newest = saved(tmp_path / "20260102T000000000Z-host-new", ROWS)

    done = call("report", "--results", tmp_path)

    assert (done.code, done.out) == (0, "")
    assert done.err == f"page:  {newest / 'report.html'}\n"
    check((newest / "report.html").read_text(encoding="utf-8"))


def test_the_command_gives_every_format_it_names(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    run = saved(tmp_path / "run", ROWS)
    trials = [row.trial for row in ROWS]

    text = {form: call("report", run, "--format", form) for form in ("terminal", "md", "csv", "json")}
    files = {form: call("report", run, "--format", form, "--output", tmp_path / form) for form in ("html", "parquet")}

    assert {*text, *files} == set(report_command.FORMS)
    assert {done.code for done in (*text.values(), *files.values())} == {0}
    assert {done.err for done in text.values()} == {""}
    assert [line["trial"] for line in csv.DictReader(io.StringIO(text["csv"].out))] == trials
    assert json.loads(text["json"].out)["trials"]["valid"] == len(ROWS)
    assert "| callbacks |" in text["md"].out
    check((tmp_path / "html").read_text(encoding="utf-8"))
    assert (tmp_path / "parquet").read_bytes().startswith(b"PAR1")


@pytest.mark.parametrize("form", ["md", "csv", "json"])
def test_rows_that_utf_8_cannot_write_are_written_all_the_same(form: str, tmp_path: Path) -> None:
    found = [crawl_row("\ud800lone", reason="\udfff", status="failed"), crawl_row()]

    report(saved(tmp_path / "run", found), form, tmp_path / "out")

    assert (tmp_path / "out").read_text(encoding="utf-8")


def test_parquet_is_written_beside_the_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    import pandas as pd

    found = [*ROWS, crawl_row("\ud800lone", reason="\udfff", status="failed")]
    report(saved(tmp_path / "run", found), "parquet")

    target = tmp_path / "run" / "rows.parquet"
    assert capsys.readouterr().err == f"table: {target}\n"
    assert pd.read_parquet(target)["trial"].tolist()[:3] == [row.trial for row in ROWS[:3]]


def test_parquet_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyarrow", "fastparquet"):
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(ExperimentError, match="pip install pyarrow"):
        report(saved(tmp_path / "run", ROWS), "parquet")

    assert not (tmp_path / "run" / "rows.parquet").exists()


@pytest.mark.parametrize("form", ["html", "md", "csv", "json"])
def test_an_empty_run_has_a_report(form: str, tmp_path: Path) -> None:
    assert report(saved(tmp_path / "run", []), form, tmp_path / "out") == 0


def test_the_terminal_form_is_what_a_run_prints_at_its_end(tmp_path: Path) -> None:
    run = saved(tmp_path / "run", ROWS)
    file = io.StringIO()
    print_summary(Studies(ROWS, run), file)

    done = call("report", run, "--format", "terminal")
    call("report", run, "--format", "terminal", "--output", tmp_path / "text")

    assert done.out == file.getvalue()
    assert (tmp_path / "text").read_text(encoding="utf-8") == file.getvalue()
    assert done.out.splitlines()[-1].startswith("• Valid trials: ")
