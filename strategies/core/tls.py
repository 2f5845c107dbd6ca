"""The client's side of TLS that all models share: the context, once per crawl. No I/O.

Strategies import this module in https crawls only, because ``ssl`` takes memory and time that a crawl of http must not
pay. How a model shakes hands, reads and waits over TLS is its own affair, and stands in its file.
"""

import ssl
from ssl import SSLContext, SSLSocket, SSLWantReadError, SSLWantWriteError
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inflight.strategies.base import Job

__all__ = ["SSLContext", "SSLSocket", "SSLWantReadError", "SSLWantWriteError", "has_ended_properly", "make_context"]


def make_context(job: "Job") -> SSLContext:
    """Make the context of a crawl: certificates and host names are checked, with the CAs of ``job.ca`` or the system's.

    HTTP/1.1 alone is offered. Raises OSError (also SSLError) if the file of CAs cannot be read.
    """
    context = ssl.create_default_context(cafile=job.ca)
    context.set_alpn_protocols(["http/1.1"])
    return context


def has_ended_properly(connection: ssl.SSLObject) -> bool:
    """Return whether the peer has said that no more comes (close_notify); ask when a transport has come to its end.

    Without that, anybody on the way may have cut the connection, so a body that lasts until then is not whole
    (RFC 9112, section 9.8). Transports of asyncio and uvloop do not tell the two apart; their ``ssl_object`` does.
    """
    try:
        return not connection.read(1)
    except ssl.SSLZeroReturnError:  # the transport has answered with its own close_notify
        return True
    except ssl.SSLError:
        return False
