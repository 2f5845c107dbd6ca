"""The claims on a slide: each once, its verdict in words, colour and symbol, and nothing too long for its place."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.present import page
from bench.studies.claims import plot as plot_claims
from bench.studies.claims.plot import VERDICTS, save_claims
from tests.made_rows import MACHINE, crawl_row

SYMBOLS = {symbol for symbol, _ in VERDICTS.values()}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out of a made-up claim."""

    verdict: str = "holds"
    figures: str = "44.9 kB in all layers (95 % 44.7 to 45.1)"
    close: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """A made-up claim with its outcome."""

    id: str
    published: str = "about 50k"
    outcome: Outcome = Outcome()
    kind: str = "claim"

    @property
    def word(self) -> str:
        """The verdict as people read it."""
        return self.outcome.verdict


def one_of_each() -> list[Claim]:
    return [Claim(f"claim-{n}", outcome=Outcome(verdict)) for n, verdict in enumerate(VERDICTS)]


def written(path: Path) -> str:
    texts = ET.parse(path).getroot().itertext()  # noqa: S314  (we wrote it)
    return " ".join(" ".join(texts).split()).replace("\xa0", " ")


def test_a_slide_has_every_claim_with_its_verdict_figures_and_what_was_published(tmp_path: Path) -> None:
    paths = save_claims(one_of_each(), [crawl_row()], MACHINE, tmp_path)
    text = written(tmp_path / "claims.svg")

    assert [path.name for path in paths] == ["claims.png", "claims.svg"]
    title = "Of 5 claims, 1 holds, 1 holds differently, 1 does not hold here, 1 is inconclusive and 1 was not tested"
    assert title in text
    for word in (*VERDICTS, *SYMBOLS, "claim-0", "claim-3", "44.9 kB in all layers", "about 50k", "Imaginary 9000"):
        assert word in text


def test_a_verdict_close_to_its_boundary_is_marked_and_only_that(tmp_path: Path) -> None:
    save_claims([Claim("near", outcome=Outcome(close=True)), Claim("far")], [], MACHINE, tmp_path)
    text = written(tmp_path / "claims.svg")

    assert "*: close to the boundary of its rule, another run may say otherwise" in text
    assert text.count("holds *") == 1
    save_claims(one_of_each(), [], MACHINE, tmp_path)
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
    claims = [Claim(text, text, Outcome(list(VERDICTS)[n % 4], text)) for n in range(number)]
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
    claims = [Claim("one", outcome=Outcome(figures=" ".join(f"figure-{n}" for n in range(16))))]
    with page.settings():
        shown = [text.get_text() for text in plot_claims.draw(claims, "title", "footer").texts]

    assert [text for text in shown if text.startswith("figure-")][1].endswith("figure-15")


def test_more_claims_than_fit_go_on_to_another_slide(tmp_path: Path) -> None:
    claims = [Claim(f"claim-{n:02}") for n in range(plot_claims.MOST_ROWS + 1)]
    paths = save_claims(claims, [], {}, tmp_path)

    assert [path.name for path in paths] == ["claims.png", "claims.svg", "claims-2.png", "claims-2.svg"]
    assert "Of 23 claims, 23 hold (1 of 2)" in written(tmp_path / "claims.svg")
    assert "claim-22" in written(tmp_path / "claims-2.svg")


def test_no_claim_is_no_slide(tmp_path: Path) -> None:
    assert save_claims([], [], MACHINE, tmp_path) == []


def test_an_unknown_verdict_is_shown_as_it_is(tmp_path: Path) -> None:
    save_claims([Claim("one", outcome=Outcome("who knows"))], [], MACHINE, tmp_path)

    assert "who knows" in written(tmp_path / "claims.svg")
