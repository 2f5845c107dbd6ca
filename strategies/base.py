"""The contract of strategies: their input and their duties. Read this before writing a strategy."""

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol

from inflight.strategies.core.frontier import Frontier

if TYPE_CHECKING:
    from inflight.strategies.core.tls import SSLContext


@dataclass(frozen=True, slots=True)
class Job:
    """The order for one crawl, the same for every model.

    Durations are in nanoseconds, sizes in bytes. ``timeout_ns`` is the deadline of one fetch, from its
    start until its response is complete.
    """

    roots: tuple[str, ...]
    max_in_flight: int = 100
    connection: Literal["keep-alive", "per-fetch"] = "keep-alive"
    timeout_ns: int = 30_000_000_000
    max_redirects: int = 10
    max_tries: int = 4
    strict: bool = True
    exclude: str | None = None
    max_header_bytes: int = 64 * 1024
    """Maximum of a header section, without its last empty line; also of all interim responses before it, of a trailer
    section, and of a line with the size of a chunk."""
    max_body_bytes: int = 16 * 1024 * 1024
    work_units: int = 0
    """CPU work per page, in units of ``inflight.strategies.core.work``."""
    ca: str | None = None
    """Path of a file of CAs that sign the certificates of https servers; None: those that the system trusts."""

    @property
    def is_https(self) -> bool:
        """Whether the crawl is one of https. All roots of a crawl have the same scheme, and so has all that follows."""
        return any(url.startswith("https:") for url in self.roots)

    def tls_context(self) -> "SSLContext | None":
        """Make the context of all connections of the crawl, as ``core.tls`` says; None in a crawl of http."""
        if not self.is_https:
            return None
        from inflight.strategies.core.tls import make_context

        return make_context(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the job as JSON values, without ``work_units`` and ``ca`` if there are none, as in older jobs."""
        values = asdict(self)
        if not self.work_units:
            del values["work_units"]
        if self.ca is None:
            del values["ca"]
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Job":
        """Make a job from the result of ``to_dict``. Raises TypeError for an unknown key."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise TypeError(f"a job has no {', '.join(unknown)}")
        return cls(**{**values, "roots": tuple(values["roots"])})


class Strategy(Protocol):
    """A module that implements one concurrency model, or calls one client, and nothing else.

    Keep at most ``job.max_in_flight`` fetches open. Start all fetches that the frontier offers, and finish each once.
    Return when nothing waits and nothing is in flight. In short::

        waiting = frontier.roots()                      # fetches to start, in any order
        frontier.start(fetch)                           # just before it connects or sends its first byte
        consume(job)                                    # the response is complete: do the CPU work of the page
        waiting += frontier.finish(fetch, response)     # its new links wait now
        waiting += frontier.fail(fetch, error)          # a retry, or nothing

    A strategy catches ``OSError`` and ``ProtocolError`` of a fetch and passes them to ``frontier.fail``. Any other
    exception is a bug and leaves ``crawl``. No thread, task, process or descriptor may outlive ``crawl``, even after an
    error.

    A redirect is a response: pass it to ``frontier.finish``, which offers its target. Read a response in any framing of
    HTTP/1.1, and whatever its status. Accept what RFC 9110 and 9112 permit a client to accept and three of aiohttp,
    httpx, requests and pycurl do. All else is a ProtocolError as soon as the first wrong byte has come, and is not
    tried again. A fetch fails when its response is not complete at its deadline. A fetch fails when its response is
    larger than the limits of the job. Request the URL as it is recorded, with the header fields of the shared core.
    With ``keep-alive``, use connections again; with ``per-fetch``, open one for each fetch. A kept connection that the
    server has closed costs no try.

    The frontier follows the ``href`` values, in quotes or in none, of pages with status 200 and the type ``text/html``
    or ``application/xml``; and the ``Location`` of redirects. It does not follow, and counts in ``not_followed``:

    - links and redirects to other schemes than that of the roots, which is http or https;
    - those to other hosts than the roots, and what ``job.exclude`` matches: the job says so;
    - those of which no URL can be made, and redirects without ``Location``;
    - links on pages of other types.

    It does not look for links in ``src``, ``srcset``, ``<meta http-equiv=refresh>``, ``Link`` and ``Refresh`` fields or
    scripts. It does not decode coded bodies, or read pages in UTF-16. It does not know ``<base>``: a relative link is
    joined to the URL of its page. All this would cost time on every page.

    ``consume`` is a function of ``inflight.strategies.core.work``. Call it once per response, without holding a lock.

    A model with an event loop of its own fires ``frontier.timer``, unless it is None, by the means by which it finds
    deadlines: it waits no longer than until ``timer.due_ns``, and then calls ``timer.fire(now)``. Loops of asyncio,
    uvloop, trio and gevent need nothing, if the crawl calls ``frontier.roots()`` within the loop.

    ``inflight check NAME`` tests these rules.

    A crawl of https trusts the CAs of ``job.ca``, and a certificate that is refused is not tried again. What lasts
    until the connection closes is whole only after a close_notify. ``job.tls_context()`` makes the context of such a
    crawl; call it once. Only then import ``core.tls`` or ``ssl``. A model that cannot do TLS says why in the module
    constant ``NO_TLS``.

    A model with a maximum number in flight sets it in the module constant ``MOST_IN_FLIGHT``; the plan leaves out
    higher caps. A model that needs threads for each fetch in flight sets their number in ``THREADS_EACH``, so that
    the plan can be checked against the thread limits of the machine; one that needs more than 100 kB of memory for each
    connection over TLS sets it in ``TLS_BYTES_EACH``. ``GROUP`` is a key of
    ``inflight.strategies.GROUPS``: strategies of one group are compared with each other. ``LEAST_PYTHON`` and
    ``SYSTEM`` are requirements other than distributions, such as ``(3, 12)`` and ``"linux"``. A strategy that runs
    the code of another one on something else, such as another event loop, names it in ``VARIANT_OF``, and may
    import it. ``CONFLICTS`` are distributions that must not be installed, because they replace what is measured.
    Constants are read from the file without importing it, so write them as literals.
    """

    STACK: Literal["shared", "own", "none"]
    """``shared``: parses responses with ``inflight.strategies.core``; ``own``: has its own HTTP stack; ``none``: is no
    model, but measures a part of a page."""
    REQUIRES: tuple[str, ...]
    """Distributions that must be installed; every row records their versions."""

    def crawl(self, job: Job, frontier: Frontier) -> None:
        """Crawl from ``job.roots`` until the frontier is done. This blocks; it runs in the main thread of a process."""
