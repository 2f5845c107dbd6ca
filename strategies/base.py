"""What every strategy is given, and what it promises: the one page to read before writing a strategy."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Protocol

from inflight.strategies.core.frontier import Frontier


@dataclass(frozen=True, slots=True)
class Job:
    """Say what one crawl does; the same for every model.

    Durations are in nanoseconds, sizes in bytes. ``timeout_ns`` is the deadline of one fetch, from the moment
    it is started until its response is whole.
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
    max_body_bytes: int = 16 * 1024 * 1024
    work_units: int = 0
    """How much CPU work each page asks for, in units of ``inflight.strategies.core.work``."""

    def to_dict(self) -> dict[str, Any]:
        """Return the job as plain JSON values; ``work_units`` only where there are any, as older jobs have none."""
        values = asdict(self)
        return values if self.work_units else {name: value for name, value in values.items() if name != "work_units"}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Job":
        """Make a job from what ``to_dict`` returned. Raises TypeError for a key that no job has."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise TypeError(f"a job has no {', '.join(unknown)}")
        return cls(**{**values, "roots": tuple(values["roots"])})


class Strategy(Protocol):
    """A module in ``strategies/``: one concurrency model, and nothing but its concurrency model.

    Keep at most ``job.max_in_flight`` fetches open; start what the frontier offers; finish each once; return
    when nothing waits and nothing is in flight. In short::

        waiting = frontier.roots()                      # fetches to be made, in any order
        frontier.start(fetch)                           # just before its first byte is sent, or its connect
        consume(job)                                    # the response is whole: what a page asks to be computed
        waiting += frontier.finish(fetch, response)     # what was found is waiting now
        waiting += frontier.fail(fetch, error)          # likewise: a retry, or nothing

    A strategy catches ``OSError`` and ``ProtocolError`` of a fetch and hands them to ``frontier.fail``; any other
    exception is a bug and leaves ``crawl``. Whatever happens, no thread, task or descriptor outlives ``crawl``.

    ``consume`` is that of ``inflight.strategies.core.work``; it is called once for each response, and under no lock.

    A model that can never have more than so many in flight says so in a module constant ``MOST_IN_FLIGHT``; the plan
    then leaves out the caps above it. One that needs threads for each fetch in flight says how many in
    ``THREADS_EACH``, so that the plan can be held against the machine's thread limits. ``GROUP`` says with which others
    it is compared (``inflight.strategies.GROUPS``), ``LEAST_PYTHON`` and ``SYSTEM`` what it needs beside distributions,
    as in ``(3, 12)`` and ``"linux"``. One that runs the code of another strategy on something else, such as an event
    loop, names it in ``VARIANT_OF``, and may import it. Constants are read from the file without importing it:
    write them as literals.
    """

    STACK: Literal["shared", "own"]
    """Parses responses with ``inflight.strategies.core``, or brings an HTTP stack of its own."""
    REQUIRES: tuple[str, ...]
    """Distributions that must be installed, and whose versions are recorded with every result."""

    def crawl(self, job: Job, frontier: Frontier) -> None:
        """Crawl from ``job.roots`` until the frontier is done. Blocks; runs in the main thread of a process."""
