"""A colour, a marker and a line style for each name: the same in every plot and race of every run, permanently.

The look depends on the name alone, not on the other names of a plot or their order. Known names have a place in
``ROWS``; any other name gets a look by a hash, with a marker that no known name has, and keeps the colour of the known
name that it begins with, as in ``callbacks 3.13.0``. Two names may share a colour; marker and line style distinguish
them, and every line has its name beside it.

Colours are those of M. Okabe and K. Ito, which colour-blind people can distinguish (with olive instead of their yellow,
which is pale on white).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a8000")
"""The colours of names."""
INKS = ("#0072b2", "#b34f00", "#007a5a", "#a8487c", "#8f6200", "#1f74a6", "#000000", "#6f6700")
"""The same colours for text, with a contrast to white of 4.5 or more (WCAG 2.2, 1.4.3)."""
GREY, MIDDLE, PALE = "#595959", "#9a9a9a", "#d9d9d9"
"""Colours of what has no name: text, middle and background."""
_LIGHT = ("#6bb6ec", "#ff9a61", "#3fd0a6", "#e9a6cc", "#f2b632", "#9ddcff", "#e9e8e4", "#c7bc3c")
"""The colours of names in dark mode."""
DARK = {
    **dict(zip(COLOURS, _LIGHT, strict=True)),
    **dict(zip(INKS, _LIGHT, strict=True)),
    "#ffffff": "#14161a",
    GREY: "#a8acb3",
    MIDDLE: "#767c85",
    PALE: "#3b4048",
}
"""What each colour becomes in dark mode; ``templates/report.css`` has the same values for the rest of a page."""
MARKERS = "osD^vPX*"
"""Markers of known names."""
OTHER_MARKERS = "<>pdh"
"""Markers of other names."""
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1)))
"""Line styles."""
FREE = "-"
"""A place that no name has."""
ROWS = (
    # The first eight, which are compared most often, have a colour and a marker of their own.
    "callbacks generators native_asyncio thread_pool aiohttp_client sequential gevent trio_tasks",
    (
        "epoll_callbacks await_by_hand process_pool thread_pool_executor httpx_client asyncio_sockets "
        "thread_per_fetch eager_tasks"
    ),
    (
        "null_client loop_per_thread interpreter_pool urllib3_threads httpx2_client requests_threads "
        "niquests_client pycurl_multi"
    ),
    # Idle threads and tasks of memory, load generators, and limits.
    "asyncio_task generator asyncio_task_socket thread asyncio_task_stream generator_task wrk locust",
    "core_client gevent_greenlets uvloop_streams threads - uvloop_sockets asyncio_protocol asyncio_tasks",
    "ports descriptors backlog - - - uvloop_protocol -",
    "- - asyncio_small_tls - - - - -",
)
"""Names in columns of one colour each, so that variants of a model share its colour. A name keeps its place for ever; a
new name takes a free place. In a column no two of the first eight rows have the same marker, and no two of five
consecutive rows have the same line style."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a name is drawn."""

    number: int
    """Number of the colour, as in ``--c0`` of the pages."""
    marker: str
    """As Matplotlib names it."""
    dashes: Any
    """Style of lines, as Matplotlib takes it."""

    @property
    def colour(self) -> str:
        """The colour, as ``#rrggbb``."""
        return COLOURS[self.number]

    @property
    def ink(self) -> str:
        """The colour of its name."""
        return INKS[self.number]


def look(name: str) -> Look:
    """Return the look of a name."""
    if name in _PLACES:
        row, number = _PLACES[name]
        return Look(
            number,
            MARKERS[(number + row) % len(MARKERS)],
            DASHES[(number + 2 * row) % len(DASHES)],
        )
    rest, number = divmod(crc32(name.encode("utf-8", "surrogatepass")), len(COLOURS))
    _, number = _PLACES.get(name.partition(" ")[0], (0, number))
    rest, marker_number = divmod(rest, len(OTHER_MARKERS))
    return Look(number, OTHER_MARKERS[marker_number], DASHES[rest % len(DASHES)])


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Return the look of each name of one plot.

    A name without a place of its own whose colour and marker another such name has (the first in alphabetical order
    keeps them) takes the next free marker of its colour; then its look depends on the others.
    """
    result = {name: look(name) for name in names}
    taken = {(known.number, known.marker) for name, known in result.items() if name in _PLACES}
    for name in sorted(result.keys() - _PLACES.keys()):
        hashed = result[name]
        start = OTHER_MARKERS.index(hashed.marker)
        markers = OTHER_MARKERS[start:] + OTHER_MARKERS[:start]
        free = next((marker for marker in markers if (hashed.number, marker) not in taken), hashed.marker)
        result[name] = replace(hashed, marker=free)
        taken.add((hashed.number, free))
    return result


_PLACES = {
    name: (row, number) for row, names in enumerate(ROWS) for number, name in enumerate(names.split()) if name != FREE
}
"""Row and column of each known name."""
