"""Memory in layers: what a process itself has, and what the kernel has for it. Read at rest only; unknown is None.

A process's own pages (USS) are the layer that everybody looks at. The kernel keeps more for it that no RSS shows: page
tables (counted for each process), a stack for each thread, and slab objects and buffers for each socket, file, thread
and poll entry. The last two are counted for the whole system only, so a trial reads them before and after, and marks
itself when something else has moved meanwhile.
"""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from inflight.bench.measure import procfs

Layers = dict[str, int | None]

SETTLE_S = 0.05
STILL = 0.002
"""Memory is at rest when two readings SETTLE_S apart differ by at most this share."""


def of_process(pid: int, root: Path = Path("/proc")) -> Layers:
    """Return the memory of a process: its own (USS), its share (PSS), resident (RSS), its page tables (VmPTE).

    VmPTE: Documentation/filesystems/proc.rst in the kernel's source.
    """
    full = psutil.Process(pid).memory_full_info()
    return {
        "uss_bytes": full.uss,
        "rss_bytes": full.rss,
        "pss_bytes": getattr(full, "pss", None),
        "page_tables_bytes": procfs.sizes(procfs.text_of(root / str(pid) / "status")).get("VmPTE"),
    }


def of_system(root: Path = Path("/proc")) -> Layers:
    """Return what the kernel has for all processes together, and the counts by which to tell who moved it.

    ``slab_bytes`` holds both ends of every loopback connection, files, threads, poll entries. ``socket_bytes`` are the
    pages of data in sockets (proc(5), /proc/net/sockstat: TCP mem, in pages). ``tcp_sockets`` are those of this network
    namespace, without ``time_waits``. ``tasks`` are all threads of all processes (proc(5), /proc/loadavg).
    """
    sizes = procfs.sizes(procfs.text_of(root / "meminfo"))
    sockstat = procfs.text_of(root / "net" / "sockstat")
    pages = _after(sockstat, "TCP", "mem")
    return {
        "kernel_stack_bytes": sizes.get("KernelStack"),
        "slab_bytes": sizes.get("Slab"),
        "all_page_tables_bytes": sizes.get("PageTables"),
        "available_bytes": sizes.get("MemAvailable"),
        "socket_bytes": None if pages is None else pages * os.sysconf("SC_PAGE_SIZE"),
        "tcp_sockets": _after(sockstat, "TCP", "inuse"),
        "time_waits": _after(sockstat, "TCP", "tw"),
        "tasks": procfs.tasks(procfs.text_of(root / "loadavg")),
    }


def unused_bytes(root: Path = Path("/proc")) -> int:
    """Return what neither a process nor the kernel uses: free pages, and pages of files, which can be read again.

    MemAvailable takes nearly all reclaimable slab for available (si_mem_available, mm/show_mem.c), and the inodes of
    open sockets are accounted as reclaimable (SLAB_RECLAIM_ACCOUNT, net/socket.c), as their directory entries are: with
    a million connections, gigabytes that nothing can give back. Where there is no meminfo: what psutil says.
    """
    sizes = procfs.sizes(procfs.text_of(root / "meminfo"))
    try:
        return sizes["MemFree"] + sizes["Buffers"] + sizes["Cached"] - sizes["Shmem"]
    except KeyError:
        available: int = psutil.virtual_memory().available
        return available


def at_rest(pid: int, deadline_s: float) -> tuple[Layers, Layers]:
    """Return the layers of a process and of the system as soon as two readings agree; else, at the deadline, the last.

    ``deadline_s`` is on the clock of time.monotonic().
    """
    return settled(lambda: (of_process(pid), of_system()), deadline_s, time.sleep)


def settled(
    read: Callable[[], tuple[Layers, Layers]],
    deadline_s: float,
    sleep: Callable[[float], None],
    pause_s: float = SETTLE_S,
) -> tuple[Layers, Layers]:
    """Read layers of processes and of the system again and again, and return them as ``at_rest`` does."""
    own, system = read()
    while time.monotonic() < deadline_s:
        sleep(pause_s)
        (own_before, system_before), (own, system) = (own, system), read()
        if _agree(own_before, own, "uss_bytes") and _agree(system_before, system, "slab_bytes"):
            break
    return own, system


def _agree(one: Layers, other: Layers, key: str) -> bool:
    old, new = one.get(key), other.get(key)
    return old is None or new is None or abs(new - old) <= STILL * max(old, new)


def _after(text: str | None, protocol: str, word: str) -> int | None:
    """Return the number that follows a word in the line of a protocol."""
    found = re.search(rf"^{protocol}:.*\b{word} (\d+)", text or "", re.MULTILINE)
    return int(found[1]) if found else None
