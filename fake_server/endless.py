"""The pages of an endless site as bytes: each page is rendered once, and the number of its lap is filled in.

Page n is page ``n % pages`` of lap ``n // pages``. The first six digits of a page's number are its lap. Only these
digits differ between the laps of a page: in its title, in its links, and in the one link to the next lap.
"""

from inflight.fake_server.requests import Job
from inflight.fake_server.responses import Answer, page_answer
from inflight.fake_server.site import FIRST_LAP, PageSpec, Site

_LAP, _NEXT = str(FIRST_LAP).encode(), str(FIRST_LAP + 1).encode()
_PREFIX = b"/p/"
_LAP_END = len(_PREFIX) + len(_LAP)
_LAPS_KEPT = 1024


class Mould:
    """One page without the number of its lap.

    ``stop``: the page has no links and is answered at once; its length stays the same.
    """

    __slots__ = ("_answer", "_delay_ns", "_parts")

    def __init__(self, page: PageSpec, body: bytes, *, stop: bool = False) -> None:
        self._answer = answer = page_answer(page, body.replace(b"<a href=", b"<b data=") if stop else body, 0)
        self._delay_ns = 0 if stop else answer.delay_ns
        head, body = answer.tail[: answer.head_bytes], answer.tail[answer.head_bytes :]
        self._parts = [part.split(_LAP) for part in body.split(_NEXT)]
        self._parts[0][0] = head + self._parts[0][0]  # not split: a Content-Length may have the digits of a lap

    def job(self, lap: bytes, following: bytes) -> Job:
        """Return the job for this page in a lap; ``following`` is the next lap."""
        answer = self._answer
        tail = following.join([lap.join(part) for part in self._parts])
        return Job(Answer(answer.status, tail, answer.head_bytes, self._delay_ns, plain=True))


class EndlessPages:
    """All pages of an endless site, by request target."""

    def __init__(self, site: Site, *, stop: bool = False) -> None:
        first, pages = site.first, site.config.pages
        width = len(str(first)) - len(_LAP)
        self._moulds = {b"%0*d" % (width, n): Mould(*site.render(first + n), stop=stop) for n in range(pages)}
        self._laps: dict[bytes, tuple[bytes, bytes]] = {}  # by the beginning of paths: the lap, and the next one

    def get(self, target: bytes, /) -> Job | None:
        """Return the job for a request target; None if it is no page."""
        mould, start = self._moulds.get(target[_LAP_END:]), target[:_LAP_END]
        if mould is None:
            return None
        laps = self._laps.get(start) or self._lap(start)
        return mould.job(*laps) if laps else None

    def _lap(self, start: bytes) -> tuple[bytes, bytes] | None:
        """Return the lap at the beginning of a path, and the next lap; None if it is no page's path."""
        lap = start[len(_PREFIX) :]
        if not start.startswith(_PREFIX) or not lap.isdigit() or lap.startswith(b"0"):
            return None
        if len(self._laps) >= _LAPS_KEPT:
            self._laps.clear()
        self._laps[start] = laps = lap, b"%d" % (int(lap) + 1)
        return laps
