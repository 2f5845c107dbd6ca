"""The claims on a slide: each once, its verdict in words, colour and symbol, and nothing too long for its place."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.present import page
from inflight.bench.studies.claims import plot as plot_claims
from inflight.bench.studies.claims.plot import VERDICTS, save_claims
from inflight.bench.studies.claims.verdicts import Verdict
from tests.claims.made_verdicts import made_report, made_verdict
from tests.made_rows import crawl_row

SYMBOLS = {symbol for symbol, _ in VERDICTS.values()}


FIGURES = "44.9 kB in all layers (95 % 44.7 to 45.1)"


def claim(name: str, **changes: Any) -> Verdict:
    """Make a verdict of its own."""
    return made_verdict(**{"id": name, "published": "about 50k", "figures": FIGURES} | changes)


def one_of_each() -> list[Verdict]:
    return [claim(f"claim-{n}", verdict=verdict, order=n) for n, verdict in enumerate(VERDICTS)]


def written(path: Path) -> str:
    texts = ET.parse(path).getroot().itertext()  # noqa: S314  (we wrote it)
    return " ".join(" ".join(texts).split()).replace("\xa0", " ")


@pytest.mark.ci
def test_a_slide_has_every_claim_with_its_verdict_figures_and_what_was_published(tmp_path: Path) -> None:
    paths = save_claims(made_report(*one_of_each()), [crawl_row()], tmp_path)
    text = written(tmp_path / "claims.svg")

    assert [path.name for path in paths] == ["claims.png", "claims.svg"]
    title = "Of 5 claims, 1 holds, 1 holds differently, 1 does not hold here, 1 is inconclusive and 1 was not tested"
    assert title in text
    for word in (*VERDICTS, *SYMBOLS, "claim-0", "claim-3", "44.9 kB in all layers", "about 50k", "Imaginary 9000"):
        assert word in text


def test_a_verdict_close_to_its_boundary_is_marked_and_only_that(tmp_path: Path) -> None:
    save_claims(made_report(claim("near", close=True), claim("far")), [], tmp_path)
    text = written(tmp_path / "claims.svg")

    assert "*: close to the boundary of its rule, another run may differ" in text
    assert text.count("holds *") == 1
    save_claims(made_report(*one_of_each()), [], tmp_path)
    assert "close to" not in written(tmp_path / "claims.svg")


def test_verdicts_differ_in_more_than_colour() -> None:
    assert len(SYMBOLS) == len(VERDICTS)
    assert len({colour for _, colour in VERDICTS.values()}) == len(VERDICTS) - 1  # of two there is no verdict


def test_a_slide_is_16_to_9() -> None:
    with page.settings():
        figure = plot_claims.draw(one_of_each(), "title", "footer")

    assert figure.get_figwidth() / figure.get_figheight() == pytest.approx(16 / 9, rel=0.01)


@pytest.mark.parametrize("number", [1, plot_claims.MOST_ROWS])
@pytest.mark.parametrize(
    "text", ["short", "x" * 500, "$x^{2}$ <b>& " * 30, "a\x00b\x1b[31m\n", "\N{PILE OF POO}" * 90, ""]
)
def test_nothing_overlaps_or_leaves_the_page_whatever_the_texts(text: str, number: int) -> None:
    claims = [claim(text, published=text, verdict=list(VERDICTS)[n % 4], figures=text) for n in range(number)]
    with page.settings():
        figure = plot_claims.draw(claims, "A title " * 16, "a footer " * 40)
        boxes = [text.get_window_extent() for text in figure.texts if text.get_text()]

    assert all(0 <= box.x0 <= box.x1 <= figure.bbox.x1 for box in boxes)
    assert all(0 <= box.y0 <= box.y1 <= figure.bbox.y1 for box in boxes)
    assert [
        (a, b)
        for n, a in enumerate(boxes)
        for b in boxes[n + 1 :]
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 2 and min(a.y1, b.y1) - max(a.y0, b.y0) > 2
    ] == []


def test_few_claims_leave_room_for_two_lines_of_figures() -> None:
    claims = [claim("one", figures=" ".join(f"figure-{n}" for n in range(16)))]
    with page.settings():
        shown = [text.get_text() for text in plot_claims.draw(claims, "title", "footer").texts]

    assert [text for text in shown if text.startswith("figure-")][1].endswith("figure-15")


def test_more_claims_than_fit_go_on_to_another_slide(tmp_path: Path) -> None:
    claims = [claim(f"claim-{n:02}") for n in range(plot_claims.MOST_ROWS + 1)]
    paths = save_claims(made_report(*claims), [], tmp_path)

    assert [path.name for path in paths] == ["claims.png", "claims.svg", "claims-2.png", "claims-2.svg"]
    assert "Of 23 claims, 23 hold (1 of 2)" in written(tmp_path / "claims.svg")
    assert "claim-22" in written(tmp_path / "claims-2.svg")


def test_no_claim_is_no_slide(tmp_path: Path) -> None:
    assert save_claims(made_report(), [], tmp_path) == []
