"""Verdicts as lines, as JSON, as Markdown and as a section."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inflight import strategies
from inflight.bench.studies import claims
from inflight.bench.studies.claims import show
from inflight.bench.studies.claims.rules import RULES
from inflight.bench.studies.claims.verdicts import JSON_FILE, ClaimsError, Report, Verdict, explained, load, save, shown
from tests.claims.cases import CASES
from tests.claims.made_verdicts import made_report, made_verdict
from tools.document.__main__ import macros
from tools.document.stored import Runs

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


def verdicts() -> list[Verdict]:
    """Return every claim's verdict in every case."""
    loaded = {claim_id: claims.load(claim_id, strategies.names()) for claim_id in RULES}
    return [loaded[claim_id].verdict(RULES[claim_id](rows)) for claim_id, _, rows, _ in CASES]


def test_a_line_has_id_verdict_and_figures() -> None:
    assert show.line(made_verdict()).split() == ["thread-memory", "holds", "45", "kB"]
    assert show.line(made_verdict(close=True)).endswith("(close to the boundary)")
    assert "\x1b[32mholds" in show.line(made_verdict(), colour=True)


def test_hostile_figures_stay_on_one_line() -> None:
    hostile = show.line(made_verdict(figures="a\nb\x1b[31m"))

    assert "\n" not in hostile
    assert "\x1b" not in hostile


def test_figures_are_filled_in_by_their_units() -> None:
    values = {"a_ns": 1_500_000, "b_bytes": 45_000, "c_ratio": 17.0, "d_share": 0.97, "e": 1234, "f_per_s": 500.0}

    assert {name: shown(name, value) for name, value in values.items()} == {
        "a_ns": "1.50 ms",
        "b_bytes": "45.0 kB",
        "c_ratio": "17x",
        "d_share": "97 %",
        "e": "1,234",
        "f_per_s": "500 pages/s",
    }


def test_a_sentence_with_an_unknown_figure_is_left_out() -> None:
    template = "It costs {full_bytes}. It took {gone_ns}. It costs {full_bytes} in {gone_ns}. So it is."

    assert explained(template, {"full_bytes": 45_000, "gone_ns": None}) == "It costs 45.0 kB. So it is."


def test_the_whole_of_a_claim_has_its_facts_and_two_tracebacks_side_by_side() -> None:
    traces = {"callbacks_text": "one\ntwo\nthree", "generators_text": "1\n2" + "x" * 200}
    text = show.whole(made_verdict(values=traces), width=60)

    for part in ("A thread costs.", "a chapter", "50k", "By a slope.", "here", "the rule", "It is."):
        assert part in text
    last = text.splitlines()[-3:]
    assert [part.strip() for part in last[0].split("|")] == ["one", "1"]
    assert all(len(line) <= 60 for line in last)


def test_the_json_reads_back_as_the_same_report(tmp_path: Path) -> None:
    before = made_report(*verdicts())
    save(before, tmp_path)

    assert load(tmp_path) == before


def test_the_json_has_the_stored_keys() -> None:
    (folder,) = REFERENCE.glob("*-claims")
    stored = json.loads((folder / JSON_FILE).read_text(encoding="utf-8"))
    made = msgspec.to_builtins(made_report(made_verdict()))

    assert made.keys() == stored.keys()
    assert made["claims"][0].keys() == stored["claims"][0].keys()


@pytest.mark.parametrize(
    "change", [None, "{", {}, {"format": 2}, {"claims": 3}, {"claims": [{"id": "c10k"}]}, {"trials": {"measured": "x"}}]
)
def test_a_folder_without_claims_is_refused_with_one_sentence(tmp_path: Path, change: Any) -> None:
    good = msgspec.to_builtins(made_report(made_verdict()))
    if change is not None:
        text = change if isinstance(change, str) else json.dumps(good | change if change else {})
        (tmp_path / JSON_FILE).write_text(text, encoding="utf-8")

    with pytest.raises(ClaimsError) as refused:
        load(tmp_path)
    assert "\n" not in str(refused.value)


def test_markdown_escapes_hostile_text() -> None:
    text = show.markdown(made_report(made_verdict(figures="a | b <script> *c* _d_ `e`\n# f")))

    (line,) = [line for line in text.splitlines() if "script" in line]
    assert "<script>" not in line
    assert r"a \| b" in line
    assert r"\_d\_" in line


def test_markdown_names_machine_command_and_what_was_left_out() -> None:
    text = show.markdown(made_report(made_verdict(close=True)))

    for part in ("Imaginary 9000", "`inflight run quick`", "4 rows of earlier runs", "c10k", "holds (close)"):
        assert part in text


def test_demonstrations_are_below_a_heading_of_their_own() -> None:
    found: Report = made_report(
        made_verdict(id="xkcd", kind="demonstration", order=4),
        made_verdict(id="races", kind="demonstration", verdict="does not hold here", order=3),
        made_verdict(id="c10k", order=2),
        made_verdict(id="no-gil", verdict="not tested", order=1),
    )

    section, lines = show.section(found), [line for line in show.lines(found) if line]

    assert section.title == "Of 2 claims, 1 holds and 1 was not tested; 2 more are demonstrations"
    assert [[cells[1] for cells in table.cells] for table in section.tables] == [
        ["not tested", "holds"],
        ["not shown here", "shown here"],
    ]
    assert [line.split()[0] for line in lines] == ["no-gil", "c10k", "Demonstrations,", "races", "xkcd", "c10k"]
    assert lines[-1].endswith("not part of --quick")


@pytest.mark.parametrize(
    ("found", "title"),
    [
        ([], "No claim was tested"),
        (["holds"], "Of 1 claim, 1 holds"),
        (["inconclusive", "holds", "inconclusive"], "Of 3 claims, 1 holds and 2 are inconclusive"),
    ],
)
def test_the_title_counts_the_verdicts(found: list[str], title: str) -> None:
    assert show.title(made_report(*(made_verdict(verdict=word) for word in found))) == title


def test_the_page_of_the_documents_has_a_section_for_each_claim() -> None:
    each = {verdict.id: verdict for verdict in verdicts() if verdict.verdict == "holds"}

    page = macros(Runs(Path()), Path()).verdicts(made_report(*each.values()))

    for verdict in each.values():
        assert f"\n## {verdict.id}\n" in page
        assert f"(#{verdict.id})" in page
    assert "    Traceback of callbacks" in page
    assert set(each) == set(RULES)
    assert "{" not in page.replace("\\{", "")


def test_the_summary_is_in_the_order_of_the_claims() -> None:
    report = made_report(made_verdict(order=2, claim="Second."), made_verdict(claim="First."))

    lines = [line for line in macros(Runs(Path()), Path()).verdicts(report).splitlines() if line.startswith("| [")]

    assert lines[0] == "| [thread-memory](#thread-memory): First. | holds |"
    assert lines[1].endswith(": Second. | holds |")
