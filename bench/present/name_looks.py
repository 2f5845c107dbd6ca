"""A colour, a marker and a line style for each name: the same in every plot, table and race of every run, for ever.

A name's look follows from the name alone: not from who else is shown, and not from their order. Known names have a
place in ``KNOWN``; any other gets one by a hash of its letters, with markers that no known name has. With eight colours
two names may share one; marker and line style tell them apart, and every line has its name beside it.

Colours are those of M. Okabe and K. Ito (but olive for their yellow, which is pale on white), which colour-blind people
can tell apart.
"""

from dataclasses import dataclass
from typing import Any
from zlib import crc32

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A8000")
MARKERS = "osD^vPX*"
OTHER_MARKERS = "<>pdh"
"""Of names that are not known."""
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1)))
KNOWN = (
    # The first eight have a colour and a marker of their own: those that are most often side by side.
    "callbacks", "generators", "native_asyncio", "thread_pool", "aiohttp_client", "sequential", "gevent", "trio",
    "epoll_callbacks", "await_by_hand", "asyncio_protocol", "thread_pool_executor", "httpx", "asyncio_sockets",
    "thread_per_fetch", "eager_tasks", "uvloop_streams", "uvloop_protocol", "uvloop_sockets", "urllib3", "httpx2",
    "requests", "niquests", "pycurl",
    # Building blocks of memory, then load generators.
    "asyncio_task", "generator", "asyncio_task_socket", "thread", "asyncio_task_stream", "generator_task", "wrk",
    "locust",
)  # fmt: skip
"""Only ever added to at the end: a name keeps its place. There is room for 64."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a name is drawn."""

    number: int
    """Of the colour, as in ``--c0`` of the pages."""
    marker: str
    dashes: Any

    @property
    def colour(self) -> str:
        """The colour, as ``#rrggbb``."""
        return COLOURS[self.number]


def look(name: str) -> Look:
    """Return the look of a name."""
    if name in _PLACES:
        turn, number = divmod(_PLACES[name], len(COLOURS))
        marker = MARKERS[(number + turn) % len(MARKERS)]
        return Look(number, marker, DASHES[(number + 2 * turn) % len(DASHES)])
    rest, number = divmod(crc32(name.encode("utf-8", "surrogatepass")), len(COLOURS))
    rest, marker_number = divmod(rest, len(OTHER_MARKERS))
    return Look(number, OTHER_MARKERS[marker_number], DASHES[rest % len(DASHES)])


_PLACES = {name: place for place, name in enumerate(KNOWN)}
