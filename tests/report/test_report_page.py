"""The page of a run: one file that loads nothing, keeps to its policy, and shows whatever the folder holds."""

import base64
import gzip
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from markupsafe import Markup

from inflight.bench.rows import files as rows
from inflight.bench.rows import records
from inflight.bench.rows.files import Check, RowsError
from inflight.bench.rows.records import changed
from inflight.bench.show import folder as report_files
from inflight.bench.show import html
from inflight.bench.show import page as report_page
from inflight.bench.show.folder import Extras
from inflight.bench.show.html import shell
from inflight.bench.show.studies import Studies
from inflight.bench.show.words import MEANINGS
from tests.made_rows import MACHINE, MS, crawl_row, edited, grid, held_row, memory_rows
from tests.outputs import studies_knowing
from tests.report.parsed_page import Parsed, check, parsed
from tests.runs.made_runs import saved

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
EXTRAS = Extras("20260102T030405678Z-host-made")
HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=1>', "</style>", "]]>", "a\x00b\x1b[31m\n", "\u202eevil\u2066",
    "x" * 1500, "\ud800lone", "$x^{2}$&amp;", "<!--", "javascript:alert(1)",
]  # fmt: skip


def reference(name: str) -> Path:
    return max(REFERENCE.glob(f"*-{name}"))


def links(page: Parsed) -> dict[str, str]:
    """Return the addresses of the files inside a page, by their names."""
    return {one.attributes["download"]: one.attributes["href"] for one in page.all("a") if "download" in one.attributes}


def written(folder: Path) -> str:
    return report_page.write(folder).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Parsed:
    target = tmp_path_factory.mktemp("report") / "page.html"
    report_page.write(reference("quick"), target)
    return check(target.read_text(encoding="utf-8"))


def test_memory_over_tls_is_among_the_first_pictures_if_the_answer_has_it() -> None:
    plain = [held_row("callbacks", n, (1000, 0, 0, 8000)) for n in (100, 200, 300, 400, 500)]
    over_tls = [edited(row, workload={"tls": True}) for row in plain]
    answer = Extras("made", 'answer = ["memory", "memory_over_tls"]')

    page = report_page.page(studies_knowing([*plain, *over_tls], about=(MACHINE, answer)))

    first = page[page.index('id="plots-title"') : page.index('id="figures-title"')]
    assert re.findall(r'id="plot-([^"]+)"', first) == ["memory", "memory-2"]


def test_every_check_of_the_run_is_shown_with_its_meaning(quick: Parsed) -> None:
    names = {check.name for row in rows.read(reference("quick")) for check in row.checks}
    heads = " ".join(one.text for one in quick.all("th"))

    assert all(name in heads for name in names)
    meanings = " ".join(one.text for one in quick.all("small"))
    assert all(" ".join(MEANINGS[name].split()) in meanings for name in names)


def test_a_page_says_before_its_findings_what_was_measured(tmp_path: Path) -> None:
    text = written(reference("race"))
    assert 0 < text.index("A race to watch: 300 pages") < text.index('id="answer"')

    folder = saved(tmp_path, [crawl_row()])
    (folder / "experiment.toml").write_text("about = [1", encoding="utf-8")
    assert "about = [1" in check(written(folder)).text, "a broken file is shown, and is no error"


def test_the_machine_has_a_line_for_each_interpreter_and_no_raw_values() -> None:
    folder = reference("interpreters")
    values = json.loads((folder / "machine.json").read_text(encoding="utf-8"))

    section = report_files.machine_section(rows.read(folder), values | {"commit": "0123456789ab-dirty"})

    lines = {one[0]: one[1] for one in section.tables[0].cells}
    assert {f"interpreter {name}" for name in values["interpreters"]} <= lines.keys()
    assert "free threaded" in lines["interpreter 3.14.0a3t"]
    assert "free threaded" not in lines["interpreter 3.14.0a3"]
    assert lines["ephemeral ports"] == "32768 60999"
    assert lines["commit of inflight"] == "0123456789ab, with changes that were not committed"
    assert lines["Python of the workers"].endswith("CPython 3.14.0a3+, CPython 3.14.0a3+ without the global lock")


def test_the_rows_come_out_of_the_page_as_they_are(quick: Parsed) -> None:
    name = reference("quick").name

    found = links(quick)
    assert set(found) == {f"{name}-rows.jsonl.gz", f"{name}-rows.csv.gz"}
    packed = base64.b64decode(found[f"{name}-rows.jsonl.gz"].partition(",")[2])
    lines = gzip.decompress(packed).decode().splitlines()
    assert [records.read(line) for line in lines] == rows.read(reference("quick"))


def test_the_same_folder_gives_the_same_bytes(tmp_path: Path) -> None:
    folder = saved(tmp_path, [crawl_row(in_flight=cap, times_ns=[MS] * 30) for cap in (1, 10)])

    assert written(folder) == written(folder)


def test_claims_are_shown_with_their_verdicts_and_explanations() -> None:
    _, extras = report_files.read(reference("claims"))
    assert extras.claims is not None

    (section,) = studies_knowing([], about=({}, extras)).decisions
    markup = parsed(html.section(section))

    for verdict in extras.claims.claims:
        assert f"{verdict.id}: {verdict.word}" in [one.text for one in markup.all("summary")]
    assert markup.unclosed == []


def test_a_selftest_is_shown_as_it_was_told(tmp_path: Path) -> None:
    for file in ("machine.json", "selftest.json", "experiment.toml"):
        shutil.copy(reference("selftest") / file, tmp_path)
    lines = rows.text(reference("selftest")).splitlines(keepends=True)
    (tmp_path / "rows.jsonl").write_text("".join(lines[:40]), encoding="utf-8")

    page = check(written(tmp_path))

    assert "Decisions" in [one.text for one in page.all("span")]


def test_an_empty_run_says_so(tmp_path: Path) -> None:
    page = check(written(saved(tmp_path, [])))

    assert "This run has no rows: it ended before its first trial." in page.text


def test_a_half_written_last_line_is_left_out(tmp_path: Path) -> None:
    folder = saved(tmp_path, [crawl_row()])
    with (folder / "rows.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"run": "cut o')

    assert "Valid trials: 1 of 1" in check(written(folder)).text


@pytest.mark.parametrize("name", ["host", "system", "cpu", "python"])
def test_a_machine_whose_names_are_no_texts_is_damaged(name: str, tmp_path: Path) -> None:
    folder = saved(tmp_path, [crawl_row()])
    (folder / "machine.json").write_text(json.dumps(MACHINE | {name: 5}), encoding="utf-8")

    assert "machine.json is damaged" in report_files.read(folder)[1].missing[0]
    report_page.write(folder)


def test_a_folder_that_is_no_run_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match="is not a run"):
        report_page.write(tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["machine.json", "claims.json", "experiment.toml", "selftest.json", "verdict.json"])
@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff\xfe", b'{"versions": 5, "command": 7, "format": 1}'])
def test_a_damaged_file_beside_the_rows_is_named_and_the_page_is_made(
    name: str, content: bytes, tmp_path: Path
) -> None:
    folder = saved(tmp_path, [crawl_row()])
    (folder / name).write_bytes(content)

    machine, extras = report_files.read(folder)

    is_text = name == "experiment.toml" and content != b"\xff\xfe"
    is_object = name == "verdict.json" and content.startswith(b'{"')
    assert is_text or is_object or any(f"{name} is damaged" in sentence for sentence in extras.missing)
    assert Studies(rows.read(folder), folder).decisions is not None
    assert isinstance(machine, dict)


def test_files_that_are_missing_are_named_and_the_page_is_made(tmp_path: Path) -> None:
    folder = saved(tmp_path, [crawl_row()])
    for name in ("machine.json", "experiment.toml"):
        (folder / name).unlink()

    page = check(written(folder))

    assert "machine.json is missing." in page.text
    assert "experiment.toml is missing." in page.text
    assert "an unknown machine" in page.all("title")[0].text


def test_hostile_text_stays_text() -> None:
    found = [
        changed(
            crawl_row(text, in_flight=cap, invalid=True, times_ns=[MS] * 30),
            run=text,
            trial=f"{text}{cap}",
            checks=(Check(text, "failed", text),),
        )
        for text in HOSTILE
        for cap in (1, 10)
    ]
    found += [crawl_row(text, number=2, status="failed", reason=text) for text in HOSTILE]
    found += memory_rows(HOSTILE[0]) + grid([HOSTILE[1]], caps=(1, 10), latencies=("0",))
    values = {"cpu": HOSTILE[0], HOSTILE[1]: HOSTILE, "versions": {HOSTILE[0]: HOSTILE[1]}, "command": ["a", *HOSTILE]}
    extras = Extras(HOSTILE[0] * 20, experiment_toml="\n".join(HOSTILE), rows_path=HOSTILE[1], missing=tuple(HOSTILE))

    content = report_page.page(studies_knowing(found, about=(values, extras)))
    page = check(content)

    assert all(one.attributes["src"].startswith("data:image/svg+xml,") for one in page.all("img"))
    assert "<script>alert(1)</script>" in page.text
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", content)
    assert all(re.fullmatch(r"[\w.-]{1,140}", name) for name in links(page))


def test_a_page_without_room_leaves_out_the_table_and_then_the_rows() -> None:
    found = Studies([crawl_row(in_flight=n, latency="50ms") for n in range(1, 30)])
    extras = replace(EXTRAS, rows_path="results/made/rows.jsonl")
    both = parsed(report_page.downloads(found, extras, 1000))
    sizes = [len(one.attributes["href"]) for one in both.all("a")]

    one = report_page.downloads(found, extras, report_page.MAX_BYTES - sizes[0] - 2500)
    none = report_page.downloads(found, extras, report_page.MAX_BYTES)

    assert len(parsed(one).all("a")) == 1
    assert "rows.jsonl.gz" in parsed(one).all("a")[0].attributes["download"]
    assert "rows.csv.gz" in parsed(one).all("p")[0].text
    assert not parsed(none).all("a")
    assert "results/made/rows.jsonl" in parsed(none).all("p")[0].text


def test_a_shell_keeps_to_its_policy_with_and_without_a_script() -> None:
    body = Markup('<main><h1 id="a">x</h1></main>')

    check(shell("<b>", body, "p{color:red}", "", {}))
    page = check(shell("<b>", body, "", "'use strict';", {"data": '{"a":"\\u003c/script>"}'}))

    assert page.all("title")[0].text == "<b>"
    with pytest.raises(ValueError, match="end its own element"):
        shell("", body, "</STYLE>", "", {})
