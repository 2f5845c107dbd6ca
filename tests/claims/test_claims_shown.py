"""Verdicts as lines, as JSON and as Markdown."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import strategies
from bench.studies import claims
from bench.studies.claims import pages as claims_pages
from bench.studies.claims import show
from bench.studies.claims.rules import RULES, WORDS, Outcome, Value, Verdict
from bench.studies.claims.show import ClaimsError, Report
from tests.claims.cases import CASES
from tests.made_rows import MACHINE
from tools.document import claims as document

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["format", "machine", "source", "runs", "trials", "left_out", "claims"],
    "properties": {
        "format": {"const": 1},
        "machine": {"type": "object"},
        "source": {"type": "string"},
        "runs": {"type": "array", "items": {"type": "string"}},
        "left_out": {"type": "array", "items": {"type": "string"}},
        "trials": {"type": "object", "required": ["measured", "reused"]},
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": [
                    "id", "kind", "order", "claim", "source", "published", "about", "verdict", "figures", "region",
                    "values", "reason", "close", "explanation", "template",
                ],
                "properties": {
                    "id": {"enum": list(RULES)},
                    "kind": {"enum": ["claim", "demonstration"]},
                    "order": {"type": "integer"},
                    "verdict": {"enum": list(WORDS)},
                    "values": {"type": "object", "additionalProperties": {"type": ["number", "string", "null"]}},
                    "close": {"type": "boolean"},
                }
                | {
                    key: {"type": "string", "minLength": 1}
                    for key in (
                        "claim", "source", "published", "about", "figures", "region", "reason", "explanation",
                        "template",
                    )
                },
            },
        },
    },
}  # fmt: skip


def verdicts() -> list[Verdict]:
    """Return every claim's verdict in every case."""
    loaded = {claim_id: claims.load(claim_id, strategies.names()) for claim_id in RULES}
    return [loaded[claim_id].verdict(RULES[claim_id](rows)) for claim_id, _, rows, _ in CASES]


def made(verdict: str = "holds", figures: str = "45 kB", **changes: Any) -> Verdict:
    """Make a verdict from what a test is about."""
    outcome = Outcome(verdict, figures, "here", {"full_bytes": 45_000, "gone_ns": None}, "the rule")  # type: ignore[arg-type]
    texts = "A thread costs.", "a chapter", "50k"
    told = Verdict("thread-memory", *texts, "claim", 1, "By a slope.", "It costs {full_bytes}.", outcome)
    return replace(told, **changes)


def report(*found: Verdict) -> Report:
    return Report(found, MACHINE, "Imaginary 9000 · Linux", ("a-run",), 3, 4, ("c10k",))


def test_a_line_has_id_verdict_and_figures() -> None:
    assert show.line(made()).split() == ["thread-memory", "holds", "45", "kB"]


def test_a_line_is_coloured_only_when_asked_to_be() -> None:
    assert "\x1b[" not in show.line(made())
    assert "\x1b[32mholds" in show.line(made(), colour=True)


def test_a_line_stays_one_whatever_the_figures_contain() -> None:
    assert show.line(made(figures="a\nb\x1b[31m")).count("\n") == 0
    assert "\x1b" not in show.line(made(figures="\x1b[31m"))


def test_a_close_verdict_says_so() -> None:
    near = made(outcome=replace(made().outcome, close=True))

    assert show.line(near).endswith("(close to the boundary)")
    assert "holds (close)" in claims_pages.markdown(report(near))


def test_figures_are_filled_in_by_their_units() -> None:
    values = {"a_ns": 1_500_000, "b_bytes": 45_000, "c_ratio": 17.0, "d_share": 0.97, "e": 1234, "f_per_s": 500.0}

    assert {name: show.shown(name, value) for name, value in values.items()} == {
        "a_ns": "1.50 ms",
        "b_bytes": "45.0 kB",
        "c_ratio": "17x",
        "d_share": "97%",
        "e": "1,234",
        "f_per_s": "500 pages/s",
    }
    assert show.shown("words", "as they are") == "as they are"


def test_a_sentence_with_an_unknown_figure_is_left_out() -> None:
    told = made(explanation="It costs {full_bytes}. It took {gone_ns}. It costs {full_bytes} in {gone_ns}. So it is.")

    assert show.explained(told) == "It costs 45.0 kB. So it is."


def test_the_whole_of_a_claim_names_rule_and_region() -> None:
    text = show.whole(made())

    for part in ("A thread costs.", "a chapter", "published: 50k", "By a slope.", "here", "the rule", "45.0 kB"):
        assert part in text


def test_two_tracebacks_stand_side_by_side() -> None:
    traces: dict[str, Value] = {"callbacks_text": "one\ntwo\nthree", "generators_text": "1\n2" + "x" * 200}
    text = show.whole(made(outcome=replace(made().outcome, values=traces)), width=60)

    assert text.splitlines()[-3].split("|")[0].strip() == "one"
    assert text.splitlines()[-3].split("|")[1].strip() == "1"
    assert all(len(line) <= 60 for line in text.splitlines()[-3:])


def test_the_json_is_as_documented() -> None:
    told = json.loads(json.dumps(show.to_json(report(*verdicts())), allow_nan=False))

    jsonschema.validate(told, SCHEMA)


def test_the_json_reads_back_as_the_same_verdicts() -> None:
    before = report(*verdicts())

    assert show.from_json(json.loads(json.dumps(show.to_json(before)))) == before


@pytest.mark.parametrize("values", [{}, {"format": 2}, {"format": 1}, {"format": 1, "claims": 3}])
def test_json_that_is_none_of_ours_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ClaimsError):
        show.from_json(values)


def test_markdown_shows_whatever_the_text_contains() -> None:
    hostile = made(figures="a | b <script> *c* _d_ `e`\n# f")

    table = [line for line in claims_pages.markdown(report(hostile)).splitlines() if "script" in line]

    assert len(table) == 1
    assert "<script>" not in table[0]
    assert r"a \| b" in table[0]
    assert r"\_d\_" in table[0]


def test_markdown_names_machine_command_and_what_was_left_out() -> None:
    text = claims_pages.markdown(report(made()))

    assert "Imaginary 9000" in text
    assert "`inflight run quick`" in text
    assert "4 rows of runs before it" in text
    assert "Not part of `--quick`: c10k." in text


def test_the_page_has_a_section_for_each_claim() -> None:
    each = {verdict.id: verdict for verdict in verdicts() if verdict.outcome.verdict == "holds"}

    page = document.page(report(*each.values()))

    for verdict in each.values():
        assert f"\n## {verdict.id}\n" in page
        assert f"(#{verdict.id})" in page
    assert "    Traceback of callbacks" in page
    assert set(each) == set(RULES)
    assert "{" not in page.replace("\\{", "")


def test_demonstrations_stand_below_a_heading_of_their_own_and_are_shown() -> None:
    shown = made("holds", id="xkcd", kind="demonstration")
    outcomes = made("does not hold here", id="races", kind="demonstration"), made(), made("not tested", id="no-gil")

    lines = show.lines([shown, *outcomes])
    table = document.table([shown, *outcomes])
    stored = show.to_json(report(shown, *outcomes))

    assert [line.split()[0] for line in lines if line] == [
        "thread-memory",
        "no-gil",
        "Demonstrations,",
        "xkcd",
        "races",
    ]
    assert [line[24:42].strip() for line in lines if line][3:] == ["shown here", "not shown here"]
    assert table.index("[holds]") < table.index("Demonstrations") < table.index("[shown here]")
    assert {one["id"]: one["kind"] for one in stored["claims"]}["xkcd"] == "demonstration"
    assert show.from_json(stored).verdicts == report(shown, *outcomes).verdicts


def test_the_readme_table_is_in_the_order_of_the_claims() -> None:
    table = document.table([made(order=2, id="c10k", claim="Second."), made(order=1, claim="First.")])

    lines = table.splitlines()
    assert lines[2].startswith("| First. | 50k | [holds](docs/claims.md#thread-memory) |")
    assert lines[3].startswith("| Second. |")


def test_what_is_written_into_a_folder_is_read_again(tmp_path: Path) -> None:
    (tmp_path / show.JSON_FILE).write_text(json.dumps(show.to_json(report(made()))), encoding="utf-8")

    assert show.load(tmp_path).verdicts == (made(),)


@pytest.mark.parametrize("text", [None, "{", "{}"], ids=["no_file", "no_json", "other_json"])
def test_a_folder_without_claims_is_refused_with_one_sentence(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / show.JSON_FILE).write_text(text, encoding="utf-8")

    with pytest.raises(ClaimsError) as refused:
        show.load(tmp_path)
    assert "\n" not in str(refused.value)
