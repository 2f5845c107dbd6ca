"""What the tests of plots share: every plot of some rows, checked, and its texts."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from inflight.bench.present import page
from inflight.bench.rows.files import Row
from inflight.bench.show.studies import Studies

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

HOSTILE = "$x^{2}$<b>&[red]`|\x1b[31m\n"


def plain(text: "Text") -> str:
    """Return a text of a plot without its line breaks and the spaces at which it may not break."""
    return text.get_text().replace("\n", " ").replace("\N{NO-BREAK SPACE}", " ")


def drawn(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Draw every plot; their texts are printable, big enough and on the page."""
    with page.settings():
        found = dict(Studies(rows).plots("footer"))
        for name, figure in found.items():
            figure.draw_without_rendering()
            for text in _texts(figure):
                assert plain(text).isprintable(), name
                assert float(text.get_fontsize()) >= page.SMALL, (name, plain(text))
                box = text.get_window_extent()
                assert box.x0 >= -1, (name, plain(text))
                assert box.x1 <= figure.bbox.width + 1, (name, plain(text))
                assert box.y0 >= -1, (name, plain(text))
                assert box.y1 <= figure.bbox.height + 1, (name, plain(text))
    return found


def texts(figure: "Figure") -> str:
    """Return all texts of a plot as one line."""
    return " ".join(map(plain, _texts(figure)))


def _texts(figure: "Figure") -> "Iterator[Text]":
    for axes in figure.axes:
        titles = [axes.title, axes._left_title] if hasattr(axes, "_left_title") else [axes.title]
        for text in (*axes.texts, *titles, axes.xaxis.label, axes.yaxis.label, *axes.get_yticklabels()):
            if text.get_text() and text.get_visible():
                yield text
    yield from (text for text in figure.texts if text.get_text())
