"""Memory in layers: that of a process, and that of the kernel on its behalf. Read at rest; unknown values are None.

The pages of a process (USS) are the layer that is usually reported. The kernel keeps more for it that is in no RSS:
page tables (counted per process), a stack for each thread, and slab objects and buffers for each socket, file, thread
and poll entry. The last two are counted only for the whole system. So a trial reads them before and after, and is
marked when something else has changed them. ``held`` (memory trials, idle threads), ``crawl``, ``blocks.block`` and
``swarm.run`` read them here.
"""

import os
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

from inflight.bench.measure import host, procfs

Layers = dict[str, int | None]
"""Sizes in bytes and counts by name; None: unknown here."""

SETTLE_S = 0.05
"""Time in seconds between two readings that are compared."""
STILL = 0.002
"""Share by which two readings, SETTLE_S apart, may differ when memory is at rest."""


def process_layers(pid: int, root: Path = Path("/proc")) -> Layers:
    """Return the memory of a process: unique (USS), proportional (PSS), resident (RSS) and page tables (VmPTE).

    USS are pages that no other process has; PSS counts shared ones in parts; RSS counts them in full. VmPTE:
    Documentation/filesystems/proc.rst in the kernel's source.
    """
    full = psutil.Process(pid).memory_full_info()
    return {
        "uss_bytes": full.uss,
        "rss_bytes": full.rss,
        "pss_bytes": getattr(full, "pss", None),
        "page_tables_bytes": procfs.sizes(procfs.text_of(root / str(pid) / "status")).get("VmPTE"),
    }


def layers_of_processes(pids: Iterable[int]) -> Layers:
    """Return the memory of processes together; None for what is unknown of one. RSS counts what they share twice."""
    together, *others = (process_layers(pid) for pid in pids)
    for layers in others:
        for name, size in layers.items():
            before = together[name]
            together[name] = None if size is None or before is None else before + size
    return together


def system_layers(root: Path = Path("/proc")) -> Layers:
    """Return the kernel's memory for all processes together, and the counts that show who changed it.

    ``slab_bytes`` holds both ends of every loopback connection, files, threads, poll entries. ``socket_bytes`` are the
    pages of data in sockets (proc(5), /proc/net/sockstat: TCP mem, in pages). ``tcp_sockets`` are those of this network
    namespace, without those in TIME_WAIT. ``tasks`` are all threads of all processes (proc(5), /proc/loadavg).
    """
    sizes = procfs.sizes(procfs.text_of(root / "meminfo"))
    sockstat = procfs.text_of(root / "net" / "sockstat")
    pages = _of_tcp(sockstat, "mem")
    return {
        "kernel_stack_bytes": sizes.get("KernelStack"),
        "slab_bytes": sizes.get("Slab"),
        "socket_bytes": None if pages is None else pages * os.sysconf("SC_PAGE_SIZE"),
        "tcp_sockets": _of_tcp(sockstat, "inuse"),
        "tasks": procfs.tasks(procfs.text_of(root / "loadavg")),
    }


def unused_bytes(root: Path = Path("/proc")) -> int:
    """Return the memory that neither a process nor the kernel uses: free pages, and cached pages of files.

    MemAvailable counts nearly all reclaimable slab as available (si_mem_available, mm/show_mem.c). The inodes of open
    sockets, and their directory entries, are accounted as reclaimable (SLAB_RECLAIM_ACCOUNT, net/socket.c): with a
    million connections, gigabytes that cannot be reclaimed. Without meminfo, psutil's figure is returned.
    """
    sizes = procfs.sizes(procfs.text_of(root / "meminfo"))
    try:
        return sizes["MemFree"] + sizes["Buffers"] + sizes["Cached"] - sizes["Shmem"]
    except KeyError:
        available: int = psutil.virtual_memory().available
        return available


def at_rest(pid: int, deadline_s: float) -> tuple[Layers, Layers]:
    """Return the layers of a process with its children, and of the system, once two readings agree.

    At the deadline, which is on the clock of time.monotonic(), the last reading is returned.
    """
    return settled(lambda: (layers_of_processes(host.family(pid)), system_layers()), deadline_s, time.sleep)


def settled(
    read: Callable[[], tuple[Layers, Layers]],
    deadline_s: float,
    sleep: Callable[[float], None],
    pause_s: float = SETTLE_S,
) -> tuple[Layers, Layers]:
    """Read layers every ``pause_s``, and return them as ``at_rest`` does; swarms read those of many processes."""
    process, system = read()
    while time.monotonic() < deadline_s:
        sleep(pause_s)
        (own_before, system_before), (process, system) = (process, system), read()
        if _agree(own_before, process, "uss_bytes") and _agree(system_before, system, "slab_bytes"):
            break
    return process, system


def _agree(first: Layers, other: Layers, key: str) -> bool:
    """Return whether two readings of a layer differ by no more than STILL; an unknown one agrees."""
    old, new = first.get(key), other.get(key)
    return old is None or new is None or abs(new - old) <= STILL * max(old, new)


def _of_tcp(text: str | None, word: str) -> int | None:
    """Return the number after a word in the line of TCP."""
    match = re.search(rf"^TCP:.*\b{word} (\d+)", text or "", re.MULTILINE)
    return int(match[1]) if match else None
