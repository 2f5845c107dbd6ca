"""Attribute the bytes of a thread, a task or a stream to lines of Python, mappings and kinds of kernel objects.

It is the program of the probe ``attribution`` (``plan.bare.PROBES``): ``worker.program`` calls ``measure``. It explains
what ``idle.worker`` makes the harness measure. Each run takes one of two looks (``look``) at N new idle threads or
tasks of one kind:

- ``python``: tracemalloc, by the line of source that allocated. It sees what Python's allocators give out, but no
  stacks. It records every allocation, so the size of the process means nothing in this look.
- ``outside``: memory of the process, by the kind of mapping (/proc/PID/smaps, proc(5)), without tracemalloc; page
  tables and kernel stacks; and objects in use by the name of their slab cache (/proc/slabinfo, slabinfo(5)). The last
  is readable by root only, and covers the whole system. Small objects without a cache of their own are in kmalloc-...;
  both ends of a connection are counted.
"""

import linecache
import logging
import re
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from inflight.bench.measure import procfs
from inflight.bench.measure.idle.worker import KINDS

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "idle": ("thread", "generator_task", "asyncio_task", "asyncio_task_stream"),
    "look": ("python", "outside"),
}
"""The arguments of the probe with their usual values."""
SITE = {"pages": 1}
"""The site to which streams connect."""

MAX_LINES = 14
"""Maximum number of pieces that are listed."""
MIN_BYTES = 8
"""Minimum size of a piece, in bytes per thread, task or stream; smaller pieces are summed up."""
_N = {"thread": 1000, "asyncio_task_stream": 1000}
"""Number that is started of a kind that takes much memory or descriptors."""
_MANY = 20_000
"""Number that is started of any other kind."""
_alive: list[Any] = []
"""Keeps what was started until the process ends."""


def measure(base: str, idle: str, look: str) -> dict[str, Any]:
    """Return the bytes of each, the largest pieces first: a list of [what, bytes] for each look."""
    n, port = _N.get(idle, _MANY), urlsplit(base).port or 0
    logging.getLogger("asyncio").disabled = True  # it would warn of every task that is left at the end
    _alive.append(KINDS[idle](1, port))  # excludes what is allocated only once
    seen = _by_line if look == "python" else _from_outside
    return {"n": n} | seen(KINDS[idle], n, port)


def _by_line(start: Any, n: int, port: int) -> dict[str, Any]:
    """Return the bytes of each, by the line of source that allocated them; ``start`` starts N of one kind."""
    tracemalloc.start(1)
    before = tracemalloc.take_snapshot()
    held = start(n, port)
    after = tracemalloc.take_snapshot()
    tracemalloc.stop()
    grown = [(_line_of(change), change.size_diff / n) for change in after.compare_to(before, "lineno")]
    _alive.append(held)
    return {"started": held.started, "python": _greatest(grown)}


def _line_of(change: tracemalloc.StatisticDiff) -> str:
    """Return the file, the number and the code of a line that allocated."""
    frame = change.traceback[0]
    path = Path(frame.filename)
    code = linecache.getline(frame.filename, frame.lineno).strip()
    return f"{path.parent.name}/{path.name}:{frame.lineno}  {code}"


def _from_outside(start: Any, n: int, port: int) -> dict[str, Any]:
    """Return the bytes of each, by mapping, by slab cache, and in the tables of the kernel."""
    looks = {"mappings": _mappings, "kernel": _slabs, "tables": _tables}
    before = {name: look() for name, look in looks.items()}
    held = start(n, port)
    after = {name: look() for name, look in looks.items()}
    _alive.append(held)
    return {"started": held.started} | {name: _change(before[name], after[name], n) for name in looks}


def _mappings() -> Counter[str] | None:
    """Return private bytes by kind of mapping. A thread's stack is an anonymous mapping after one without access.

    glibc maps both as one piece and protects its lowest page, the guard (pthread_attr_setguardsize(3)).
    """
    if not (text := procfs.text_of("/proc/self/smaps")):
        return None
    sizes: Counter[str] = Counter()
    kind, guarded = "", False
    for line in text.splitlines():
        if head := re.match(r"[0-9a-f]+-[0-9a-f]+ (....) \S+ \S+ \d+\s*(.*)", line):
            kind = _kind(head[2], guarded=guarded)
            guarded = head[1].startswith("---")
        elif size := re.match(r"Private_(?:Clean|Dirty):\s+(\d+) kB", line):
            sizes[kind] += int(size[1]) * 1024
    return sizes


def _kind(name: str, *, guarded: bool) -> str:
    """Return the kind of a mapping; ``guarded`` is whether the one before it allows no access."""
    if name == "[heap]":
        return "heap (brk)"
    if name:
        return "files and others"
    return "thread stacks" if guarded else "anonymous: arenas of pymalloc and malloc"


def _slabs() -> Counter[str] | None:
    """Return the bytes of the objects in use, by cache (slabinfo(5): name, active_objs, num_objs, objsize ...)."""
    if (text := procfs.text_of("/proc/slabinfo")) is None:
        return None
    lines = text.splitlines()[2:]  # without the two of the heading
    return Counter({name: int(active) * int(size) for name, active, _, size, *_ in map(str.split, lines)})


def _tables() -> Counter[str] | None:
    """Return the page tables of this process and the kernel stacks of the whole system, in bytes."""
    process, system = (procfs.sizes(procfs.text_of(f"/proc/{name}")) for name in ("self/status", "meminfo"))
    if "VmPTE" not in process or "KernelStack" not in system:
        return None
    return Counter({"page tables (VmPTE)": process["VmPTE"], "kernel stacks (KernelStack)": system["KernelStack"]})


def _change(before: Counter[str] | None, after: Counter[str] | None, n: int) -> list[list[Any]] | None:
    """Return how many bytes of each piece one of N takes; None where it was not readable."""
    if before is None or after is None:
        return None
    return _greatest([(what, (after[what] - before[what]) / n) for what in after])


def _greatest(pieces: list[tuple[str, float]]) -> list[list[Any]]:
    """Return the largest pieces, the largest first, and the sum of all others."""
    ordered = sorted(pieces, key=lambda piece: -piece[1])
    greatest = [piece for piece in ordered[:MAX_LINES] if piece[1] >= MIN_BYTES]
    rest = sum(size for _, size in ordered) - sum(size for _, size in greatest)
    return [[what, round(size)] for what, size in [*greatest, ("all else", rest)]]
