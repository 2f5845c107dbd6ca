"""Faults of answers. A page has at most one fault, and has it on every request.

Only pages with status 200 (html and other content) can have a fault, and never page 0, so that the crawl can start.
Redirects and missing pages have none, so the pages behind a chain depend on no draw.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """`survivable`: a correct client gets a complete response, which is a 500 for error-500."""

    survivable: bool
    what: str


FAULTS: dict[str, Fault] = {
    "reset-before": Fault(survivable=False, what="the connection is reset before any byte of the answer"),
    "reset-mid": Fault(survivable=False, what="the connection is reset after half of the body"),
    "truncated": Fault(survivable=False, what="the connection ends, in order, after half of the body"),
    "error-500": Fault(survivable=True, what="the answer is 500 Internal Server Error"),
    "drip": Fault(survivable=True, what="the body arrives in small pieces, spread over drip_ns"),
    "malformed-header": Fault(survivable=False, what="a header line has no colon"),
    "missing-length": Fault(survivable=True, what="no Content-Length: the body ends with the connection"),
    "chunked": Fault(survivable=True, what="the body has Transfer-Encoding: chunked"),
}


def pick_fault(u: float, shares: Iterable[tuple[str, float]]) -> str | None:
    """Return the fault whose slice of (0, 1) holds u, or None beyond the last slice."""
    for kind, share in shares:
        if u < share:
            return kind
        u -= share
    return None
