"""The common style of all plots: sheet, axes, texts. ``name_looks`` has the looks of names. No global state.

Markers, dashes and hatches repeat what colours say, for print in grey. Sizes are for a projector: 16 : 9, no text
smaller than 11 points.
"""

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from inflight.bench.present import name_looks
from inflight.bench.present.name_looks import Look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREY = "#595959"
PALE = "#D9D9D9"
MOST_LINES = 8
"""Maximum number of strategies with a colour in a plot of lines; more cannot be distinguished."""
MOST_BARS = 30
WIDTH, HEIGHT = 13.33, 7.5
DPI = 150
WIDER = 12
"""Pixels beside a panel: a browser's font may be wider than the one that was measured."""
TITLE, TEXT, SMALL = 19, 13, 11
_NUMBER_AND_UNIT = re.compile(r"(\d) (?=(?:ns|µs|ms|s|min|B|kB|MB|GB|[KMG]iB|(?:pages|requests|responses)/s)\b|%)")
_FORMULA = re.compile(r"(?:(?<=\b\w)|(?<=[)\d])) ([=<+/x]) (?=\S)")
_MARK = re.compile(r" (?=[*†✗]$)")
SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,  # a strategy's name is a name, whatever dollars it contains
    "svg.fonttype": "none",
    "svg.hashsalt": "inflight",
    "font.family": "DejaVu Sans",
    "font.size": TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": "black",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 14,
    "axes.titleweight": "bold",
    "grid.color": PALE,
    "grid.linewidth": 0.8,
    "hatch.linewidth": 1.2,
}


@contextmanager
def settings() -> Iterator[None]:
    """Draw and save with our settings while this lasts; restore the user's settings afterwards."""
    import logging
    import warnings

    import matplotlib as mpl

    log = logging.getLogger("matplotlib.font_manager")
    level = log.level
    with mpl.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a name in a script that the font lacks
        log.setLevel(logging.ERROR)
        try:
            yield
        finally:
            log.setLevel(level)


def looks(strategies: Iterable[str]) -> dict[str, Look]:
    """Return the look of each strategy, by its name."""
    return name_looks.looks(strategies)


def sheet(title: str, subtitle: str, footer: str, height: float = HEIGHT) -> "Figure":
    """Return a sheet with the finding as its title, notes on how to read it below, and its provenance at the bottom.

    These three are texts of the figure with the gids ``title``, ``subtitle`` and ``footer``.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height))
    FigureCanvasAgg(figure)
    lines = textwrap.wrap(kept_together(title), 76, break_on_hyphens=False)
    figure.text(
        0.03, 1 - 0.22 / height, "\n".join(lines), size=TITLE, weight="bold", va="top", linespacing=1.25, gid="title"
    )
    below = 0.22 + len(lines) * 0.34 + 0.08
    notes = textwrap.wrap(kept_together(" ".join(subtitle.split())), 138, break_on_hyphens=False)
    figure.text(
        0.03, 1 - below / height, "\n".join(notes), size=12, color=GREY, va="top", linespacing=1.3, gid="subtitle"
    )
    feet = textwrap.wrap(footer, 140, break_on_hyphens=False)
    figure.text(
        0.03, 0.14 / height, "\n".join(feet), size=SMALL, color=GREY, va="bottom", linespacing=1.3, gid="footer"
    )
    figure.subplots_adjust(
        left=0.08,
        right=0.84,
        top=1 - (below + len(notes) * 0.24 + 0.5) / height,
        bottom=(0.14 + len(feet) * 0.21 + 0.72) / height,
    )
    return figure


def key(sheet: "Figure", handles: Sequence[Any], left: float, top: float) -> None:
    """Write a key in one line of a sheet; its lower left corner is at ``left`` and ``top``, as shares of the sheet."""
    sheet.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(left, top),
        bbox_transform=sheet.transFigure,
        ncols=len(handles),
        frameon=False,
        fontsize=12,
        borderaxespad=0,
        borderpad=0,
        columnspacing=1.6,
        handlelength=1.8,
    )


def kept_together(text: str) -> str:
    """Keep on one line: a number and its unit, a formula (``p = 0.02``, ``99 x 3``), a mark at the end and its word."""
    text = _NUMBER_AND_UNIT.sub("\\1\N{NO-BREAK SPACE}", text)
    text = _FORMULA.sub("\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", text)
    return _MARK.sub("\N{NO-BREAK SPACE}", text)


def retitle(figure: "Figure", title: str) -> None:
    """Replace the title of a sheet by one of one line."""
    for text in figure.texts:
        if text.get_gid() == "title":
            text.set_text(title)


def draw_and_save(draw: "Callable[[], Figure | None]", folder: Path, name: str) -> list[Path]:
    """Draw a page with our settings and write it into the folder; return no path if there is nothing to draw.

    Raises OSError when a file cannot be written.
    """
    with settings():
        figure = draw()
        if figure is None:
            return []
        folder.mkdir(parents=True, exist_ok=True)
        return save(figure, folder, name)


def save(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """Write a sheet as PNG and as SVG; equal sheets give equal bytes."""
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    figure.savefig(paths[0], dpi=DPI, metadata={"Software": None})
    write_svg(figure, paths[1])
    return paths


def write_svg(figure: "Figure", target: Path | IO[str]) -> None:
    """Write a sheet as SVG. The ids of its panels say where they are, so that a page can stack them (``panel_id``)."""
    _mark_panels(figure)
    figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})


def panel_id(kind: str, left: float, top: float, width: float, height: float) -> str:
    """Return the id of a ``panel`` or of a ``key`` in an SVG: its place in points, from the upper left corner."""
    return f"{kind}_" + "_".join(str(round(value)) for value in (left, top, width, height))


def _mark_panels(figure: "Figure") -> None:
    """Name panels and keys by their places, if each panel can stand alone: with ticks of its own, beside the others."""
    axes = [one for one in figure.axes if one.axison]
    if any(text.get_gid() not in {"title", "subtitle", "footer"} for text in figure.texts):
        return  # it belongs to several panels
    figure.draw_without_rendering()
    parts = [("key", one) for one in figure.legends] + [("panel", one) for one in axes]
    boxes = [box for _, one in parts if (box := one.get_tightbbox()) is not None]
    alone = all(_has_ticks(one.get_xticklabels()) and _has_ticks(one.get_yticklabels()) for one in axes)
    if not alone or any(one.overlaps(other) for one, other in combinations(boxes, 2)):
        return
    points = 72 / figure.dpi
    high = figure.bbox.height
    for (kind, one), box in zip(parts, boxes, strict=True):
        place = (box.x0 - WIDER, high - box.y1 - 4, box.width + 2 * WIDER, box.height + 8)
        one.set_gid(panel_id(kind, *(value * points for value in place)))


def _has_ticks(labels: Iterable[Any]) -> bool:
    return any(label.get_visible() and label.get_text() for label in labels)
