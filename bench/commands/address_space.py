"""Whether this process may still map what tables and plots need: numpy, pandas, scipy and matplotlib are large."""

import errno
import resource
from collections.abc import Iterator

NEEDED_BYTES = 700_000_000
"""With less, the libraries fail in many ways, some of which Python cannot catch: OpenBLAS ends the process."""


def shortage() -> str | None:
    """Say that the limit on address space leaves too little for tables and plots; None when it does not."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    import psutil

    left = max(0, limit - psutil.Process().memory_info().vms)
    if left >= NEEDED_BYTES:
        return None
    return (
        f"tables and plots need about {NEEDED_BYTES // 1_000_000} MB of address space, and RLIMIT_AS (ulimit -v) "
        f"leaves {left // 1_000_000} MB; raise it"
    )


def told(error: BaseException) -> str | None:
    """Say that memory has run out, if an error or what led to it says so; None when it has another reason."""
    for one in _chain(error):
        if isinstance(one, MemoryError) or (isinstance(one, OSError) and one.errno == errno.ENOMEM):
            return shortage() or "there is no memory left; free some, or raise the limit of this process"
        # A library that cannot be mapped, a thread that cannot be started
        if isinstance(one, ImportError | RuntimeError) and (short := shortage()) is not None:
            return short
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
