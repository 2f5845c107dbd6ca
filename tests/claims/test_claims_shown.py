"""Verdicts as lines, as JSON, as a section and in the documents."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inflight.bench.claims import show
from inflight.bench.claims.verdicts import JSON_FILE, ClaimFigure, ClaimsError, load, save
from inflight.bench.show import markdown
from tests.claims.cases import REFERENCE
from tests.claims.made_verdicts import hostile_verdict, made_report, made_verdict
from tests.outputs import RECORDED, compare
from tools.document.__main__ import macros
from tools.document.stored import Runs


def test_a_figure_has_its_interval_or_the_reason_why_it_is_unknown() -> None:
    assert ClaimFigure(name="a", unit="ratio", estimate=2, low=1.5, high=2.5).text == "2.00x (1.50x to 2.50x)"
    assert ClaimFigure(name="a", unit="ratio", reason="no block").text == "unknown (no block)"
    assert ClaimFigure(name="a", said="vm.max_map_count").text == "vm.max_map_count"


def test_the_claims_of_the_reference_run_are_shown_as_stored(request: pytest.FixtureRequest) -> None:
    report = load(REFERENCE)
    parts = [*show.lines(report), *(show.whole(claim, width=80) for claim in report.claims)]
    parts += [markdown.markdown(show.section(each)) for each in (report, made_report(made_verdict()))]
    parts += [macros(Runs(Path()), Path()).verdicts([report])]

    compare({RECORDED / "claims" / "verdicts.txt": "\n".join(parts)}, request.config)


def test_a_verdict_has_its_colour_and_a_claim_that_is_left_out_a_line() -> None:
    coloured, left_out = show.lines(made_report(made_verdict(is_borderline=True)), colour=True)

    assert "\x1b[32mtrue (borderline)" in coloured
    assert left_out.split() == ["c10k", "not", "part", "of", "--quick"]


def test_hostile_texts_stay_on_their_lines() -> None:
    hostile = hostile_verdict("a\nb\x1b[31m")

    assert "\n" not in show.lines(made_report(hostile))[0]
    assert "\x1b" not in show.whole(hostile) + show.lines(made_report(hostile))[0]


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
