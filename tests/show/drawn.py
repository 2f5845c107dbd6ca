"""What the tests of plots share: every plot of some rows, checked, and its texts."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from inflight.bench.rows.files import Row
from inflight.bench.show import pictures
from inflight.bench.show.studies import Studies

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

HOSTILE = "$x^{2}$<b>&[red]`|\x1b[31m\n"


def plain(text: "Text") -> str:
    """Return a text of a plot without its line breaks."""
    return text.get_text().replace("\n", " ")


def drawn(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Draw every plot as in a file and as on a page; their texts are printable, big enough and inside."""
    sheets = {}
    with pictures.settings():
        for picture in Studies(rows).pictures("footer"):
            sheets[picture.name] = pictures.draw_sheet(picture)
            for figure in (sheets[picture.name], *(pictures.draw_panel(panel).figure for panel in picture.panels)):
                figure.draw_without_rendering()
                for text in _texts(figure):
                    assert plain(text).isprintable(), picture.name
                    assert float(text.get_fontsize()) >= 8, (picture.name, plain(text))
                    box = text.get_window_extent()
                    assert box.x0 >= -1, (picture.name, plain(text))
                    assert box.x1 <= figure.bbox.width + 1, (picture.name, plain(text))
                    assert box.y0 >= -1, (picture.name, plain(text))
                    assert box.y1 <= figure.bbox.height + 1, (picture.name, plain(text))
    return sheets


def texts(figure: "Figure") -> str:
    """Return all texts of a plot as one line."""
    return " ".join(map(plain, _texts(figure)))


def _texts(figure: "Figure") -> "Iterator[Text]":
    from matplotlib.text import Text

    hidden = {
        id(tick.label1)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }
    for text in figure.findobj(Text):
        if isinstance(text, Text) and text.get_text() and text.get_visible() and id(text) not in hidden:
            yield text
