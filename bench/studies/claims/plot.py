"""Plot 9: the claims and their verdicts, as a table that fits a slide."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bench.core.rows import Row
from bench.present import page, provenance, words
from bench.studies.claims.rules import WORDS
from bench.studies.claims.show import of_claims

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLOSE = "*"
"""Beside a verdict that is close to the boundary of its rule."""
MOST_ROWS = 22
"""So many claims fit a slide; more go on to another one."""
_SIGNS = (
    ("\N{HEAVY CHECK MARK}", "#007A5A"),
    ("\N{ALMOST EQUAL TO}", "#0072B2"),
    ("\N{HEAVY BALLOT X}", "#C24E00"),
    ("?", page.GREY),
    ("-", page.GREY),
)
VERDICTS: dict[str, tuple[str, str]] = dict(zip(WORDS, _SIGNS, strict=True))
"""Each verdict's symbol and colour."""
_COLUMNS = (("claim", 0.4, 2.2), ("verdict", 2.65, 2.15), ("what was found here", 4.85, 5.8), ("published", 10.75, 2.2))
"""Head, place and width, in inches."""
_SIGN = 0.27
"""Inches that a verdict's symbol takes."""
_HIGHEST, _LEAST, _OF_TWO_LINES = 0.5, 0.238, 0.44
"""Inches: the height of a row, at most and at least, and from where on it has room for two lines of figures."""
_LINE, _LINE_LETTERS = 0.185, 80
"""Of figures: inches from line to line, and about how many letters fill one."""


class Outcome(Protocol):
    """What came out."""

    @property
    def verdict(self) -> str:
        """One of those in VERDICTS."""

    @property
    def figures(self) -> str:
        """The figures that it rests on, in one line."""

    @property
    def close(self) -> bool:
        """Whether it is close to the boundary of its rule."""


class Tested(Protocol):
    """A claim with its outcome."""

    @property
    def id(self) -> str:
        """Its short name."""

    @property
    def kind(self) -> str:
        """Whether it is tested, or a demonstration."""

    @property
    def word(self) -> str:
        """The verdict as people read it."""

    @property
    def published(self) -> str:
        """The published figure, or a dash."""

    @property
    def outcome(self) -> Outcome:
        """What came out of the test."""


def save_claims(claims: Sequence[Tested], rows: Sequence[Row], machine: dict[str, Any], folder: Path) -> list[Path]:
    """Write ``claims.png`` and ``claims.svg`` into the folder (``claims-2`` ... where one slide is too small).

    ``rows`` are those that the verdicts rest on. Nothing is written for no claim. Raises OSError when a file cannot be
    written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    footer = provenance.source(rows, machine)
    if any(map(_is_close, claims)):
        footer = f"{CLOSE}: close to the boundary of its rule, another run may say otherwise · {footer}"
    tested, shown = ([one for one in claims if (one.kind == "demonstration") is last] for last in (False, True))
    ordered = [*tested, *shown]
    slides = [ordered[at : at + MOST_ROWS] for at in range(0, len(ordered), MOST_ROWS)]
    title = of_claims((one.word for one in tested), len(shown))
    paths: list[Path] = []
    with page.settings():
        for number, slide in enumerate(slides, 1):
            part = f" ({number} of {len(slides)})" if len(slides) > 1 else ""
            paths += page.save(
                draw(slide, title + part, footer), folder, "claims" if number == 1 else f"claims-{number}"
            )
    return paths


def draw(claims: Sequence[Tested], title: str, footer: str) -> "Figure":
    """Draw one slide; what is too long for its column is cut, and ends in an ellipsis."""
    sheet = page.sheet(title, "", footer)
    top = sheet.subplotpars.top * page.HEIGHT + 0.42
    foot = sheet.subplotpars.bottom * page.HEIGHT - 0.6
    pitch = min(_HIGHEST, max(_LEAST, (top - foot) / (len(claims) + 1)))
    for head, left, _ in _COLUMNS:
        _write(sheet, head, left, top - pitch / 2, 9, weight="bold", size=12)
    _rule(sheet, top - pitch, page.GREY)
    for n, claim in enumerate(claims, 1):
        middle = top - (n + 0.5) * pitch
        symbol, colour = VERDICTS.get(claim.outcome.verdict, ("", "black"))
        _write(sheet, symbol, _COLUMNS[1][1], middle, _SIGN, color=colour, weight="bold", size=12)
        verdict = claim.word + (f" {CLOSE}" if _is_close(claim) else "")
        (_, left, width), (_, middle_left, middle_width), found, published = _COLUMNS
        _write(sheet, claim.id, left, middle, width, size=page.SMALL, weight="bold")
        _write(
            sheet,
            verdict,
            middle_left + _SIGN,
            middle,
            middle_width - _SIGN,
            size=page.SMALL,
            weight="bold",
            color=colour,
        )
        lines = _figure_lines(claim.outcome.figures, pitch)
        for number, line in enumerate(lines):
            height = middle + _LINE * ((len(lines) - 1) / 2 - number)
            _write(sheet, line, found[1], height, found[2], size=page.SMALL)
        _write(sheet, claim.published or "-", published[1], middle, published[2], size=page.SMALL)
        _rule(sheet, middle - pitch / 2, page.PALE)
    return sheet


def _figure_lines(figures: str, pitch: float) -> list[str]:
    """Return the figures in one line, or in two where the row is high enough."""
    text = words.plain(figures, 600) or "-"
    first, *rest = textwrap.wrap(text, _LINE_LETTERS, break_on_hyphens=False)
    return [first, " ".join(rest)] if rest and pitch >= _OF_TWO_LINES else [text]


def _is_close(claim: Tested) -> bool:
    return claim.outcome.close


def _write(sheet: "Figure", text: str, left: float, middle: float, width: float, **style: Any) -> None:
    """Write one line, cut to its width (all in inches)."""
    shown = words.plain(text, 200)
    written = sheet.text(left / page.WIDTH, middle / page.HEIGHT, shown, va="center", **style)
    while len(shown) > 1 and (wide := written.get_window_extent().width / sheet.dpi) > width:
        shown = shown[: max(1, min(len(shown) - 1, int(len(shown) * width / wide)))]
        written.set_text(shown.rstrip(" ,;:(") + "…")


def _rule(sheet: "Figure", height: float, colour: str) -> None:
    from matplotlib.lines import Line2D

    ends = [_COLUMNS[0][1] / page.WIDTH, (_COLUMNS[-1][1] + _COLUMNS[-1][2]) / page.WIDTH]
    sheet.add_artist(Line2D(ends, [height / page.HEIGHT] * 2, color=colour, linewidth=0.9))
