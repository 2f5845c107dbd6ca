"""Plot of the claims and their verdicts, as a table on a slide."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inflight.bench.present import page, words
from inflight.bench.report import provenance
from inflight.bench.rows.files import Row
from inflight.bench.studies.claims.show import parts, title
from inflight.bench.studies.claims.verdicts import WORDS, Report, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLOSE = "*"
"""Mark of a verdict that is close to the boundary of its rule."""
MOST_ROWS = 22
"""Maximum number of claims on a slide."""
_SIGNS = (
    ("\N{HEAVY CHECK MARK}", "#007A5A"),
    ("\N{ALMOST EQUAL TO}", "#0072B2"),
    ("\N{HEAVY BALLOT X}", "#C24E00"),
    ("?", page.GREY),
    ("-", page.GREY),
)
VERDICTS: dict[str, tuple[str, str]] = dict(zip(WORDS, _SIGNS, strict=True))
"""Symbol and colour of each verdict."""
_COLUMNS = (("claim", 0.4, 2.2), ("verdict", 2.65, 2.15), ("what was found here", 4.85, 5.8), ("published", 10.75, 2.2))
"""Head, left edge and width (inches) of each column."""
_SIGN = 0.27
"""Width of a verdict's symbol, in inches."""
_HIGHEST, _LEAST, _OF_TWO_LINES = 0.5, 0.238, 0.44
"""Maximum and minimum height of a row, and minimum height for two lines of figures, in inches."""
_LINE, _LINE_LETTERS = 0.185, 80
"""Line height of figures in inches, and approximate number of letters per line."""


def save_claims(report: Report, rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write ``claims.png`` and ``claims.svg`` into the folder, and ``claims-2`` ... if one slide is too small.

    ``rows`` are those of the verdicts. Nothing is written without a claim. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    footer = provenance.source(rows, report.machine)
    if any(one.close for one in report.claims):
        footer = f"{CLOSE}: close to the boundary of its rule, another run may differ · {footer}"
    ordered = [one for some in parts(report).values() for one in some]
    slides = [ordered[at : at + MOST_ROWS] for at in range(0, len(ordered), MOST_ROWS)]
    paths: list[Path] = []
    with page.settings():
        for number, slide in enumerate(slides, 1):
            part = f" ({number} of {len(slides)})" if len(slides) > 1 else ""
            name = "claims" if number == 1 else f"claims-{number}"
            paths += page.save(draw(slide, title(report) + part, footer), folder, name)
    return paths


def draw(claims: Sequence[Verdict], title: str, footer: str) -> "Figure":
    """Draw one slide; text that is too long for its column is cut, with an ellipsis."""
    sheet = page.sheet(title, "", footer)
    top = sheet.subplotpars.top * page.HEIGHT + 0.42
    foot = sheet.subplotpars.bottom * page.HEIGHT - 0.6
    pitch = min(_HIGHEST, max(_LEAST, (top - foot) / (len(claims) + 1)))
    for head, left, _ in _COLUMNS:
        _write(sheet, head, left, top - pitch / 2, 9, weight="bold", size=12)
    _rule(sheet, top - pitch, page.GREY)
    for n, claim in enumerate(claims, 1):
        middle = top - (n + 0.5) * pitch
        symbol, colour = VERDICTS[claim.verdict]
        _write(sheet, symbol, _COLUMNS[1][1], middle, _SIGN, color=colour, weight="bold", size=12)
        verdict = claim.word + (f" {CLOSE}" if claim.close else "")
        bold = {"size": page.SMALL, "weight": "bold"}
        (_, left, width), (_, beside, room), found, published = _COLUMNS
        _write(sheet, claim.id, left, middle, width, **bold)
        _write(sheet, verdict, beside + _SIGN, middle, room - _SIGN, **bold, color=colour)
        lines = _figure_lines(claim.figures, pitch)
        for number, line in enumerate(lines):
            height = middle + _LINE * ((len(lines) - 1) / 2 - number)
            _write(sheet, line, found[1], height, found[2], size=page.SMALL)
        _write(sheet, claim.published or "-", published[1], middle, published[2], size=page.SMALL)
        _rule(sheet, middle - pitch / 2, page.PALE)
    return sheet


def _figure_lines(figures: str, pitch: float) -> list[str]:
    """Return the figures in one line, or in two if the row is high enough."""
    text = words.plain(figures, 600) or "-"
    first, *rest = textwrap.wrap(text, _LINE_LETTERS, break_on_hyphens=False)
    return [first, " ".join(rest)] if rest and pitch >= _OF_TWO_LINES else [text]


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
