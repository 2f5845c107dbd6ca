"""Calls whose answers tell limits apart, made where a thread has just been refused: a page, a stack, a process more."""

import errno
import mmap
import os
import resource
import sys
from collections.abc import Callable
from typing import Any

PAGES_TO_TRY = 16


def symptoms(order: dict[str, Any]) -> dict[str, str]:
    """Try what needs a map more, a stack more and a process more; return ``ok`` or the name of the errno of each."""
    if order["resource"] != "threads":
        return {}
    return {"page": answer(pages), "stack": answer(lambda: stack(order)), "process": answer(process)}


def answer(attempt: Callable[[], None]) -> str:
    """Return how a call ended."""
    try:
        attempt()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "error")
    except MemoryError:
        return "ENOMEM"
    return "ok"


def pages() -> None:
    """Map single pages, shared, as such are never merged: a few, since one may still have fitted."""
    held = [mmap.mmap(-1, mmap.PAGESIZE) for _ in range(PAGES_TO_TRY)]
    for page in held:
        page.close()


def stack(order: dict[str, Any]) -> None:
    """Map as much private memory as the stack of a thread has."""
    size = order.get("stack_bytes") or resource.getrlimit(resource.RLIMIT_STACK)[0]
    if size > 0:
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()


def process() -> None:
    """Start a process that does nothing."""
    program = next((path for path in ("/bin/true", "/usr/bin/true") if os.path.exists(path)), sys.executable)  # noqa: PTH110
    quiet = ["-S", "-c", "pass"] if program == sys.executable else []
    os.waitpid(os.posix_spawn(program, [program, *quiet], {}), 0)
