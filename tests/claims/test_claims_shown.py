"""Verdicts as lines, as JSON, as a section and in the documents."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inflight.bench.claims import show
from inflight.bench.claims.verdicts import JSON_FILE, WORDS, ClaimFigure, ClaimsError, load, save
from inflight.bench.show import html, markdown
from tests.claims.cases import REFERENCE
from tests.claims.made_verdicts import hostile_verdict, made_report, made_verdict
from tools.document.__main__ import macros
from tools.document.stored import Runs


@pytest.mark.parametrize(
    ("unit", "estimate", "text"),
    [
        ("_ns", 1_500_000, "1.50 ms"),
        ("_bytes", 45_000, "45.0 kB"),
        ("ratio", 17.0, "17.0x"),
        ("cpu_share", 0.97, "97.0 %"),
        ("found", 22_207, "22,207"),
        ("pages_per_s", 500.0, "500 pages/s"),
    ],
)
def test_a_figure_is_written_in_its_unit(unit: str, estimate: float, text: str) -> None:
    assert ClaimFigure(name="a", unit=unit, estimate=estimate, low=estimate, high=estimate).text == text


def test_a_figure_has_its_interval_or_the_reason_why_it_is_unknown() -> None:
    assert ClaimFigure(name="a", unit="ratio", estimate=2, low=1.5, high=2.5).text == "2.00x (1.50x to 2.50x)"
    assert ClaimFigure(name="a", unit="ratio", reason="no block").text == "unknown (no block)"
    assert ClaimFigure(name="a", said="vm.max_map_count").text == "vm.max_map_count"


def test_a_line_has_id_verdict_and_figures() -> None:
    plain, left_out = show.lines(made_report(made_verdict()))
    coloured, _ = show.lines(made_report(made_verdict(is_borderline=True)), colour=True)

    assert plain.split() == ["thread-memory", "true", "45", "kB"]
    assert left_out.split() == ["c10k", "not", "part", "of", "--quick"]
    assert "\x1b[32mtrue (borderline)" in coloured


def test_hostile_texts_stay_on_their_lines() -> None:
    hostile = hostile_verdict("a\nb\x1b[31m")

    assert "\n" not in show.lines(made_report(hostile))[0]
    assert "\x1b" not in show.whole(hostile) + show.lines(made_report(hostile))[0]


def test_the_whole_of_a_claim_has_its_texts_its_parts_and_its_exhibits() -> None:
    text = show.whole(made_verdict(exhibits={"callbacks": "one\n  two"}), width=60)

    for part in (
        "A thread costs.",
        "a chapter",
        "50k",
        "By a slope.",
        "It has a stack.",
        "It costs 45 kB.",
        "below 50 kB",
    ):
        assert part in text
    assert text.endswith("callbacks:\none\n  two")
    assert max(map(len, text.splitlines())) <= 60


def test_the_json_reads_back_as_the_same_report(tmp_path: Path) -> None:
    save(load(REFERENCE), tmp_path)

    assert load(tmp_path) == load(REFERENCE)
    assert (tmp_path / JSON_FILE).read_bytes() == (REFERENCE / JSON_FILE).read_bytes()


@pytest.mark.parametrize(
    "change", [None, "{", {"format": 1}, {"claims": 3}, {"claims": [{"id": "c10k"}]}, {"measured": "x"}]
)
def test_a_folder_without_claims_is_refused_with_one_sentence(tmp_path: Path, change: Any) -> None:
    good = msgspec.to_builtins(made_report(made_verdict()))
    if change is not None:
        text = change if isinstance(change, str) else json.dumps(good | change)
        (tmp_path / JSON_FILE).write_text(text, encoding="utf-8")

    with pytest.raises(ClaimsError) as refused:
        load(tmp_path)
    assert "\n" not in str(refused.value)


def test_a_section_has_every_claim_and_its_texts_folded_away() -> None:
    report = made_report(*(made_verdict(id=word, verdict=word) for word in WORDS))
    found = show.section(report)
    page = html.section(found).replace("\xa0", " ")

    assert found.title == "true: 1, partly true: 1, not true here: 1, demonstration: 1, not tested: 1"
    assert [cells[1] for cells in found.tables[0].cells] == list(WORDS)
    for text in ("It costs 45 kB.", "It has a stack.", "below 50 kB", "Rows of earlier runs: 4.", "c10k"):
        assert text in page


def test_markdown_escapes_hostile_text() -> None:
    text = markdown.markdown(show.section(made_report(hostile_verdict("a | b <script> *c* _d_ `e`\n# f"))))

    (line,) = [line for line in text.splitlines() if "script" in line]
    assert "<script>" not in line
    assert r"a \| b" in line
    assert r"\_d\_" in line


def test_the_document_has_two_lines_for_each_claim() -> None:
    page = macros(Runs(Path()), Path()).verdicts(
        made_report(made_verdict(is_borderline=True), made_verdict(id="races"))
    )

    assert [line for line in page.splitlines() if line.startswith(("- ", "  "))] == [
        "- **thread-memory**, true (borderline): A thread costs.\\",
        "  45 kB. Published: 50k",
        "- **races**, true: A thread costs.\\",
        "  45 kB. Published: 50k",
    ]
    assert "Imaginary 9000" in page
