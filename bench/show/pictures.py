"""Plots. A picture has panels, and each panel is drawn onto axes by a function of its own; the marks are below.

``draw``, ``at_once``, ``ab.plot`` and ``runs.show`` make pictures; ``studies`` saves them as files (``save``), ``page``
draws each panel as an SVG image (``draw_svg``), ``Results.plot`` onto the axes of a user (``draw_onto``). Files have
all panels of a picture on a sheet, with its title, its notes and where its figures come from. Matplotlib's constrained
layout makes room for names and figures beside the axes.

Markers, dashes and hatches repeat what colours say, for print in grey. A name without a look (``looks``) is drawn pale
and thin.
"""

import io
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

from inflight.bench import units
from inflight.bench.rows import files
from inflight.bench.show import words
from inflight.bench.show.looks import COLOURS, DARK, GREY, PALE, Look, looks
from inflight.bench.show.looks import look as look_of
from inflight.bench.show.words import join

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

MAX_LINES = 8
"""Maximum number of lines with a colour in a plot; more cannot be distinguished."""
MAX_BARS = 30
"""Maximum number of bars of a panel."""
MAX_PICTURES = 6
"""Maximum number of pictures of a study."""
PANEL_WIDTH, SHEET_WIDTH, HEIGHT = 4.9, 13.33, 3.5
"""Inches: a panel of a page is as wide as a phone, with its text in the size in which it is drawn."""
ROW = 0.34
"""Inches for a bar or a row of dots."""
DPI = 150
"""Resolution of PNG files."""
TEXT, SMALL = 12, 11
"""Sizes of text in points."""
MAX_CHARACTERS = 24
"""Maximum number of characters of a line of a name; a wide one counts twice."""
WIDE = "@%MWmw"
"""Letters that are nearly twice as wide as the others."""
SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,  # a strategy's name is a name, whatever dollars it contains
    "svg.fonttype": "none",
    "svg.hashsalt": "inflight",
    "font.family": "DejaVu Sans",
    "font.size": SMALL,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelsize": SMALL,
    "xtick.labelsize": SMALL,  # by default all three are relative to font.size, which takes time
    "ytick.labelsize": SMALL,
    "axes.titlelocation": "left",
    "axes.titlesize": TEXT,
    "axes.titleweight": "bold",
    "grid.color": PALE,
    "grid.linewidth": 0.8,
    "hatch.linewidth": 1.2,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
}
"""Settings of Matplotlib."""
_TAG, _DECIMALS, _BREAK = re.compile(r"<[^>]*>"), re.compile(r"(?<=\.\d\d)\d+"), re.compile(r"\s*\n\s*")
"""Matches what is shortened in an SVG."""
_METADATA = ("Date", "Creator", "Format", "Type")
"""What an SVG of a page does not say."""
_STYLES = "*{stroke-linejoin: round; stroke-linecap: butt}"
"""The styles that Matplotlib writes into an SVG."""
_DARK_STYLES = "".join(
    [
        "@media (prefers-color-scheme: dark){",
        f'text,use,g>path:not([style*="fill:"]){{fill:{DARK["#000000"]}}}',  # Matplotlib leaves out a fill of black
        *(f'[style*="fill: {old}"],[fill="{old}"]{{fill:{new}!important}}' for old, new in DARK.items()),
        *(f'[style*="stroke: {old}"]{{stroke:{new}!important}}' for old, new in DARK.items()),
        "}",
    ]
)
"""Styles that are added for dark mode."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: ``draw`` puts everything but the title onto axes."""

    title: str
    draw: "Callable[[Axes], None]"
    height: float = HEIGHT
    """In inches."""
    is_usual: bool = False
    """Whether it stands for all panels of its picture; by default, the first one does."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A plot: the name of its files, a noun phrase as its title, its findings and how to read it."""

    name: str
    title: str
    notes: str
    """Findings, and how to read it."""
    panels: Sequence[Panel]
    footer: str = ""
    """Where its figures come from."""


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


def draw_sheet(picture: Picture) -> "Figure":
    """Draw all panels of a picture on a sheet, under ``settings``. Its texts have the gids ``title`` and ``notes``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = min(2, len(picture.panels))
    rows = [picture.panels[first : first + columns] for first in range(0, len(picture.panels), columns)]
    heights = [max(panel.height for panel in row) for row in rows]
    title = textwrap.wrap(picture.title, 80)
    notes = [line for text in (picture.notes, picture.footer) for line in textwrap.wrap(text, 135)]
    height = sum(heights) + 0.3 * len(title) + 0.2 * len(notes) + 0.4
    figure = Figure(figsize=(SHEET_WIDTH, height), layout=ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.08))
    FigureCanvasAgg(figure)
    every = list(
        figure.subplots(
            len(rows),
            columns,
            squeeze=False,
            height_ratios=heights,
        ).flat
    )
    for axes, panel in zip(every, picture.panels, strict=False):
        panel.draw(axes)
        axes.set_title(_below(picture, panel), pad=10, wrap=True)
    for axes in every[len(picture.panels) :]:
        axes.remove()
    figure.suptitle(
        "\n".join(title),
        x=0.01,
        ha="left",
        size=17,
        weight="bold",
        gid="title",
    )
    figure.supxlabel(
        "\n".join(notes),
        x=0.01,
        ha="left",
        size=SMALL,
        color=GREY,
        linespacing=1.3,
        gid="notes",
    )
    return figure


_FORMATS = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
"""The formats of files, each with what matplotlib would write into it, so that equal pictures give equal bytes."""


def save(pictures: Iterable[Picture | None], folder: Path) -> list[Path]:
    """Write each picture as PNG and as SVG, and return the paths; equal pictures give equal bytes.

    Raises OSError when a file cannot be written, or the folder is a link: it may be in the folder of a stranger.
    """
    paths = []
    if folder.is_symlink():
        raise OSError(f"{folder.name} is a link to another place; remove the link")
    with settings():
        for picture in filter(None, pictures):
            folder.mkdir(parents=True, exist_ok=True)
            sheet = draw_sheet(picture)
            sheet.draw_without_rendering()
            sheet.set_layout_engine("none")  # it has its layout now
            for form, metadata in _FORMATS.items():
                image = io.BytesIO()
                path = folder / f"{picture.name}.{form}"
                sheet.savefig(image, format=form, dpi=DPI, metadata=metadata)
                files.write(path, image.getvalue())
                paths.append(path)
    return paths


def draw_onto(picture: Picture, axes: "Axes | None") -> "Figure":
    """Draw the usual panel of a picture onto axes, by default those of a new figure; return their figure."""
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    panel = next((panel for panel in picture.panels if panel.is_usual), picture.panels[0])
    with settings():
        axes = axes or Figure(figsize=(10, panel.height + 1.5), layout="constrained").subplots()
        panel.draw(axes)
        axes.set_title(join("\n", picture.title, _below(picture, panel)), pad=10)
        for text in axes.findobj(Text):
            assert isinstance(text, Text)
            text.set_parse_math(False)  # ticks of the caller's own axes were made before our settings were in force
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def _below(picture: Picture, panel: Panel) -> str:
    """Return the title of a panel that stands below that of its picture, without what that says."""
    title, _, text = panel.title.partition(": ")
    if not picture.title.startswith(title):
        return textwrap.fill(panel.title, 60)
    return textwrap.fill(text.removesuffix(picture.title.removeprefix(title)), 60)


def draw_panel(panel: Panel) -> "FigureCanvasSVG":
    """Draw a panel as it is on a page, under ``settings``."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PANEL_WIDTH, panel.height), layout="constrained", facecolor="none")
    canvas = FigureCanvasSVG(figure)
    axes = figure.subplots()
    panel.draw(axes)
    figure.suptitle(
        "\n".join(textwrap.wrap(panel.title, 42)),
        x=0.01,
        ha="left",
        size=TEXT,
        weight="bold",
    )
    return canvas


def draw_svg(panel: Panel) -> str:
    """Draw a panel of a page as an SVG with colours for light and dark mode, under ``settings``."""
    file = io.StringIO()
    canvas = draw_panel(panel)
    # savefig would draw twice
    canvas.print_svg(file, metadata=dict.fromkeys(_METADATA))  # type: ignore[no-untyped-call]
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :].replace(_STYLES, _STYLES + _DARK_STYLES, 1)
    return _TAG.sub(lambda tag: _DECIMALS.sub("", tag[0]), _BREAK.sub(" ", svg))


# Axes


def name_rows(axes: "Axes", names: Sequence[str], figures: Mapping[int, str] | None = None) -> None:
    """Name the rows at 0, 1 and so on, from the top down; write figures to the right of the axes."""
    axes.set_yticks(range(len(names)), list(map(in_lines, names)), linespacing=0.9)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    for place, text in (figures or {}).items():
        axes.text(
            1.02,
            place,
            text,
            transform=axes.get_yaxis_transform(),
            va="center",
            weight="bold",
        )


def in_lines(name: str) -> str:
    """Return a long name in two lines, so that it leaves room for the axes; cut if that is not enough."""
    wide = [char for char in name if char in WIDE or east_asian_width(char) in "FW"]
    most = MAX_CHARACTERS * len(name) // max(1, len(name) + len(wide))
    if len(name) <= most or "\n" in name:
        return name
    return "\n".join(textwrap.wrap(words.shortened(name, 2 * most), most, max_lines=2, placeholder="…"))


def set_ticks(axis: Any, write: Callable[..., str], most: int = 4) -> None:
    """Put a few ticks at round values of a linear axis, at most ``most`` + 1."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(most))
    axis.set_major_formatter(_formatter(write))


def log_axis(axis: Any, write: Callable[..., str], values: Iterable[float]) -> None:
    """Make an axis logarithmic, a little wider than the values, with ticks at round values."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    values = list(values)
    low = min(values) / 1.25
    high = max(values) * 1.25
    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    getattr(axis.axes, f"set_{axis.axis_name}lim")(low, high)
    locators = {
        5: MaxNLocator(3),
        60: LogLocator(subs=(1, 2, 5)),
        600: LogLocator(subs=(1, 3)),
        math.inf: LogLocator(),
    }
    axis.set_major_locator(next(locator for most, locator in locators.items() if high / low <= most))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(_formatter(write))


def _formatter(write: Callable[..., str]) -> Any:
    """Return what writes a value beside a tick, without trailing zeros."""
    from matplotlib.ticker import EngFormatter, StrMethodFormatter

    if write is units.duration:
        seconds = EngFormatter("s")
        return lambda value_ns, _: seconds(value_ns / 1e9)
    if write is units.size:
        return EngFormatter("B")
    if write in {units.rate, units.number, units.count}:
        return StrMethodFormatter("{x:,.10g}")
    return lambda value, _: write(value)


def write_key(axes: "Axes", handles: Sequence[Any], columns: int = 2) -> None:
    """Write a key with ``handles`` below the axes and the label of their x axis, in this many columns."""
    from matplotlib.transforms import ScaledTranslation

    figure = axes.get_figure(root=True)
    assert figure is not None
    place = axes.transAxes + ScaledTranslation(0, -0.75, figure.dpi_scale_trans)
    axes.legend(
        handles=handles,
        ncols=columns,
        loc="upper right",
        bbox_to_anchor=(1, 0),
        bbox_transform=place,
        borderaxespad=0,
    )


# Marks


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a line, with its interval; an invalid one is hollow, and not part of the line."""

    x: float
    y: float
    low: float = math.nan
    high: float = math.nan
    is_invalid: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its name, its value, the text beside it, and how it looks."""

    name: str
    value: float
    text: str
    of: str
    """The name that has its colour, which may be shorter than its own."""
    stack: str = "shared"
    """It is hatched for any other one."""
    is_valid: bool = True
    """It is pale if no trial is."""
    instead: str = ""
    """What is written in place of the bar, if its value is too noisy to be drawn."""


@dataclass(frozen=True, slots=True)
class Label:
    """A name beside the end of a line, in data coordinates."""

    x: float
    y: float
    text: str
    ink: str
    """Its colour."""


FILLS: tuple[dict[str, Any], ...] = tuple(
    {"facecolor": COLOURS[number], "hatch": hatch, "edgecolor": "white", "linewidth": 0}
    for number, hatch in zip((0, 5, 1, 4, 2), ("", "..", "//", "\\\\", "xx"), strict=True)
)
"""The fills of the parts of stacked bars, such as layers of memory, in their order; hatches are for print in grey."""


def draw_dots(axes: "Axes", x: Any, y: Any, look: Look | None, *, hollow: bool = False, size: float = 7) -> None:
    """Draw points as markers of ``size`` points; ``hollow`` ones are of invalid trials."""
    style = _style(look)
    if hollow:
        style["markerfacecolor"] = "white"
    axes.plot(
        x,
        y,
        marker=look.marker if look else "o",
        linestyle="none",
        markersize=size,
        **style,
    )


def draw_line(axes: "Axes", x: Any, y: Any, look: Look | None) -> None:
    """Draw a line through points."""
    width, dashes = (2, look.dashes) if look else (1, "-")
    axes.plot(x, y, linestyle=dashes, linewidth=width, **_style(look))


def _style(look: Look | None) -> dict[str, Any]:
    """Return how a name is drawn."""
    return {"color": look.colour, "zorder": 3} if look else {"color": PALE, "zorder": 1}


def draw_series(axes: "Axes", name: str, points: Sequence[Point], look: Look | None) -> list[Label]:
    """Draw the points of a name, their intervals, and a line through valid points; return the label of its end."""
    good = [point for point in points if not point.is_invalid]
    invalid = [point for point in points if point.is_invalid]
    x = [point.x for point in good]
    y = [point.y for point in good]
    draw_line(axes, x, y, look)
    draw_dots(axes, x, y, look)
    draw_dots(axes, [point.x for point in invalid], [point.y for point in invalid], look, hollow=True)
    for point in good:
        if point.low < point.high < math.inf:
            reach = [[point.y - point.low], [point.high - point.y]]
            axes.errorbar(point.x, point.y, reach, capsize=3, **_style(look))
    if look is None or not points:
        return []
    end = max(good or points, key=lambda point: (point.x, point.y))
    text = words.name(name) if good else f"{words.name(name)} (invalid)"
    return [Label(end.x, end.y, text, look.ink)]


def draw_lines(axes: "Axes", series: Mapping[str, Sequence[Point]]) -> None:
    """Draw the points of each name, and its name at the end of its line. The limits of the axes must be set."""
    styles = looks(list(series)[:MAX_LINES])
    labels = list[Label]()
    for name, points in series.items():
        labels += draw_series(axes, name, points, styles.get(name))
    draw_labels(axes, labels)


def draw_bars(axes: "Axes", bars: Sequence[Bar]) -> None:
    """Draw a bar for each name, and write its figure beside it."""
    places = range(len(bars))
    values = [0.0 if bar.instead else bar.value for bar in bars]
    colours = [look_of(bar.of).colour if bar.is_valid else PALE for bar in bars]
    hatches = ["" if bar.stack == "shared" else "//" for bar in bars]
    axes.barh(places, values, height=0.66, color=colours, hatch=hatches, edgecolor="white")
    name_rows(axes, [bar.name for bar in bars], {place: bar.text for place, bar in enumerate(bars)})
    axes.set_xlim(0, 1.02 * max([1e-9, *values]) if any(values) else 1)
    for place, bar in enumerate(bars):
        axes.text(0.02, place, bar.instead, transform=axes.get_yaxis_transform(), va="center")


def draw_labels(axes: "Axes", labels: Sequence[Label]) -> None:
    """Write names to the right of the axes, each level with the end of its line, or as near as there is room.

    A thin line leads from one to the other. The limits of the axes must be set, in a panel of the usual height.
    """
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = [float(to_axes.transform((label.x, label.y))[1]) for label in labels]
    texts = [in_lines(label.text) for label in labels]
    pitch = 0.36 if "\n" in "".join(texts) else 0.2
    for label, text, place in zip(labels, texts, spread(ends, pitch / (HEIGHT - 1)), strict=True):
        axes.annotate(
            text,
            (label.x, label.y),
            (1.04, place),
            textcoords="axes fraction",
            va="center",
            color=label.ink,
            arrowprops={
                "arrowstyle": "-",
                "color": label.ink,
                "linewidth": 0.7,
                "shrinkB": 4,
                "relpos": (0, 0.5),
            },
            annotation_clip=False,
        )


def spread(wanted: Sequence[float], pitch: float) -> list[float]:
    """Return heights from 0 to 1 in the order of the wanted ones, at least ``pitch`` apart: pushed up, then down."""
    order = sorted(range(len(wanted)), key=lambda n: wanted[n])
    places = dict[int, float]()
    low = 0.0
    for n in order:
        places[n] = low = max(wanted[n], low)
        low += pitch
    high = max(1.0, pitch * (len(wanted) - 1))
    for n in reversed(order):
        places[n] = min(places[n], high)
        high = places[n] - pitch
    return [places[n] for n in range(len(wanted))]
