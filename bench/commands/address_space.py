"""Whether enough address space is left for tables and plots: numpy, scipy and matplotlib are large."""

import errno
import resource
from collections.abc import Iterator

NEEDED_BYTES = 700_000_000
"""With less, libraries fail, and not only by exceptions: OpenBLAS ends the process."""


def shortage() -> str | None:
    """Return a sentence if RLIMIT_AS leaves too little for tables and plots, else None."""
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
    """Return a sentence if an error, or one of its causes, means that memory has run out, else None."""
    for one in _chain(error):
        if isinstance(one, MemoryError) or (isinstance(one, OSError) and one.errno == errno.ENOMEM):
            return shortage() or "no memory is left; free some, or raise the limit of this process"
        # A library could not be mapped, or a thread could not be started
        if isinstance(one, ImportError | RuntimeError) and (short := shortage()) is not None:
            return short
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
