"""The machine: its description, the cores to use, and the kernel's counts that show whether a trial was disturbed.

A run asks once for its description (``machine``) and for its cores (``choose_cpus``, ``halves``). Trials read
``disturbances``, ``run_delay_ns`` and CPU times before and after. ``without_places`` keeps folders of this machine out
of results. A CPU quota, as of ``docker --cpus``, is CPU time per period, usually 100 ms (sched-bwc.rst): when all
processes of a control group together have used it up, the kernel stops them until the next period.
"""

import contextlib
import importlib.metadata
import math
import os
import platform
import re
import resource
import socket
import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from operator import sub
from pathlib import Path
from typing import Any

import psutil
from msgspec.structs import astuple

from inflight.bench.measure import procfs
from inflight.bench.measure.blocks.sides import describe_commit
from inflight.bench.rows.files import without_places
from inflight.bench.rows.parts import Quota, together

_DISTRIBUTIONS = ("inflight-bench", "uvloop", "httptools", "psutil", "aiohttp", "locust", "gevent")
"""Distributions whose version is always recorded."""
_OF_STRATEGIES = ("trio", "requests", "urllib3", "httpx", "httpcore", "httpx2", "pycurl", "niquests")
"""Libraries whose version is recorded where they are installed."""
PROC = Path("/proc")
"""Where the kernel's files are; tests give another folder."""
_QUOTA_FILES = ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us")
"""Files with a quota and its period, in this order: the first one (version 2), or the others (version 1)."""
_KINDS_OF_INTEL = ("cpu_lowpower/cpus", "cpu_atom/cpus", "cpu_core/cpus")
"""Lists of the CPUs of Intel's kinds of cores, the slowest first (linux: arch/x86/events/intel/core.c)."""
_SPEEDS = ("cpu_capacity", "cpufreq/cpuinfo_max_freq")
"""Files with the speed of a core (linux: Documentation/ABI/testing/sysfs-devices-system-cpu)."""
STEP = 1.25
"""Ratio of the speed of the fastest core to that of another one from which on the other is of a slower kind.

Cores of one kind may have maximum frequencies that differ a little, because the processor prefers its best ones (Intel
Turbo Boost Max 3.0, AMD preferred cores). Those of two kinds differ more: Intel specifies 4.7 GHz and 3.5 GHz for the
Core i7-12700H.
"""


def with_harness(cpus: set[int] | None) -> set[int] | None:
    """Return these cores, and those of the harness: for workers while nothing is measured, or no time."""
    return None if cpus is None else cpus | os.sched_getaffinity(0)


@dataclass(frozen=True, slots=True)
class Cpus:
    """The cores that serve and the cores that crawl; None where nothing is pinned."""

    server: set[int] | None
    client: set[int] | None
    others: frozenset[int] = frozenset()
    """Other cores that this process may use."""

    def client_cores(self, cores: int) -> frozenset[int] | None:
        """Return up to this many cores for a client: its own, then unused ones, fast ones first, then the server's."""
        if self.client is None:
            return None
        return frozenset([*self.client, *sorted(self.others, key=kind), *(self.server or ())][:cores])


ANY = Cpus(None, None)
"""Nothing is pinned."""


def choose_cpus(*, pin: bool) -> Cpus:
    """Choose different cores for server and client: of one kind, not two threads of one core, and fast if possible.

    ``pin``: whether the experiment pins processes to cores at all; without it, and on macOS, nothing is pinned.
    """
    return apart(_pinnable(), siblings, kind) if pin else ANY


def halves(*, pin: bool) -> Cpus:
    """Divide the cores between many servers and many clients, for a swarm; threads of one core stay together.

    ``pin`` as in ``choose_cpus``.
    """
    return divided(_pinnable(), siblings, kind) if pin else ANY


def apart(allowed: set[int], siblings_of: Callable[[int], set[int]], kind_of: Callable[[int], int]) -> Cpus:
    """Return two of the allowed CPUs; with only one CPU, nothing is pinned.

    If possible they are of one kind, then on different cores, then fast. So two slow cores are better than the two
    threads of the only fast one, which slow each other down. If no kind has two CPUs, the client has the faster one.
    """
    if len(allowed) < 2:
        return ANY

    costs = (  # a: the server, b: the client
        (kind_of(a) != kind_of(b), b in siblings_of(a), kind_of(b), kind_of(a), a, -b, b)
        for a, b in permutations(allowed, 2)
    )
    *_, server, _, client = min(costs)  # (..., a, -b, b): of equal pairs the lowest server and the highest client
    return Cpus({server}, {client}, frozenset(allowed - {server, client}))


def divided(allowed: set[int], siblings_of: Callable[[int], set[int]], kind_of: Callable[[int], int]) -> Cpus:
    """Return two halves of the allowed CPUs, in whole cores, the larger for servers; with one core, pin nothing.

    Servers have the slow cores, as far as these go.
    """
    cores = sorted({tuple(sorted(siblings_of(cpu) & allowed)) for cpu in allowed})
    cores.sort(key=lambda core: -kind_of(core[0]))
    middle = (len(cores) + 1) // 2
    server, client = ({cpu for core in half for cpu in core} for half in (cores[:middle], cores[middle:]))
    return Cpus(server, client) if client else ANY


def usable_cores() -> list[int]:
    """Return the cores that this process may use."""
    return sorted(_pinnable()) or list(range(os.cpu_count() or 1))


@cache
def kinds(root: Path = Path("/sys/devices")) -> Mapping[int, int]:
    """Return the kind of core of each CPU: 0 for the fastest, more for slower ones; empty where all are alike.

    The speed of a core is what Intel says of its kind, else its capacity, else its maximum frequency.
    """

    def listed(name: str) -> Collection[int]:
        """Return the CPUs in a file that lists some."""
        return procfs.ranges(procfs.text_of(f"{root}/{name}")) or ()

    speeds = [{cpu: speed for speed, name in enumerate(_KINDS_OF_INTEL, 1) for cpu in listed(name)}]
    for name in _SPEEDS:
        files = {cpu: f"{root}/system/cpu/cpu{cpu}/{name}" for cpu in listed("system/cpu/online")}
        speeds.append({cpu: procfs.whole(procfs.text_of(file)) or 1 for cpu, file in files.items()})
    for each in speeds:  # the first source by which cores differ
        fastest = max(each.values(), default=1)
        ranks = {cpu: int(math.log(fastest / speed, STEP)) for cpu, speed in each.items()}
        if any(ranks.values()):
            return ranks
    return {}


def kind(cpu: int) -> int:
    """Return the kind of core of a CPU, 0 for the fastest."""
    return kinds().get(cpu, 0)


def _pinnable() -> set[int]:
    """Return the cores that this process may use; none where the system cannot pin."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def cpu_ns(pid: int) -> int | None:
    """Return the CPU time of a process so far, of all its threads, from the kernel's clock for the process.

    The number of that clock is made from the process id (clock_getcpuclockid(3); in the kernel CPUCLOCK_SCHED of
    include/linux/posix-timers.h). None where there is no such clock.
    """
    with contextlib.suppress(OSError, AttributeError):
        return time.clock_gettime_ns(~pid << 3 | 2)  # 2: CPUCLOCK_SCHED, of the whole process
    return None


def cpu_in_ticks_ns(pid: int) -> int:
    """Return the CPU time of a process so far, with a resolution of 10 ms (proc(5), stat)."""
    times = psutil.Process(pid).cpu_times()
    return round((times.user + times.system) * 1e9)


def family(pid: int) -> list[int]:
    """Return a process, its children and theirs."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


def machine(neighbour: str | None = None) -> dict[str, Any]:
    """Return a description of machine and software for ``machine.json``; unknown values are None.

    ``neighbour`` is the kind of neighbour that is started beside the trials on purpose.
    """
    model = re.search(r"^model name\s*:\s*(.+)$", procfs.text_of("/proc/cpuinfo") or "", re.MULTILINE)
    memory, limit = psutil.virtual_memory(), read_quota()
    unusual = {
        "neighbour": neighbour,
        "cpu_quota_cores": limit and limit.cores,
        "slow_cores": list(filter(kind, kinds())),
    }
    return {
        "host": socket.gethostname(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpu": model[1] if model else platform.processor() or None,
        "cores": psutil.cpu_count(),
        "usable_cores": len(usable_cores()),
        "memory_bytes": memory.total,
        "libc": " ".join(platform.libc_ver()).strip() or None,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "compiler": platform.python_compiler(),
        "versions": {
            name: version
            for name in (*_DISTRIBUTIONS, *_OF_STRATEGIES)
            if (version := _version(name)) or name in _DISTRIBUTIONS
        },
        "commit": describe_commit(Path(__file__).resolve()),
        "descriptor_limit": list(resource.getrlimit(resource.RLIMIT_NOFILE)),
        "process_limit": list(resource.getrlimit(resource.RLIMIT_NPROC)),
        "transparent_huge_pages": _setting("/sys/kernel/mm/transparent_hugepage/enabled"),
        "somaxconn": _setting("/proc/sys/net/core/somaxconn"),
        "ephemeral_ports": _setting("/proc/sys/net/ipv4/ip_local_port_range"),
        "frequency_governor": _setting("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "command": [Path(sys.argv[0]).name, *without_places(sys.argv[1:])],
    } | {name: value for name, value in unusual.items() if value}


def read_quota(root: Path = Path("/")) -> Quota | None:
    """Return the tightest CPU quota of this process's control group and its ancestors; None without one.

    Its counts are sums over all of them that have a quota, because each may throttle. No limit is written as ``max`` or
    -1, which is no number for ``procfs.wholes``.
    """
    group, mounted = (procfs.text_of(f"{root}/proc/self/{name}") for name in ("cgroup", "mountinfo"))
    quotas = []
    for folder in procfs.cgroup_folders(group, mounted, "cpu"):
        limit: list[int] = []
        for name in _QUOTA_FILES:
            limit += procfs.wholes(procfs.text_of(f"{root}{folder}/{name}"))
        if len(limit) == 2:
            quota_us, period_us = limit
            stat = procfs.keyed(procfs.text_of(f"{root}{folder}/cpu.stat"))
            time_ns = stat.get("throttled_time", 1000 * stat.get("throttled_usec", 0))
            quotas.append(Quota(quota_us / period_us, stat.get("nr_periods", 0), stat.get("nr_throttled", 0), time_ns))
    return together(quotas)


def quota_between(before: Quota | None, after: Quota | None) -> Quota | None:
    """Return a quota with what it has counted between two readings; None without one at either moment."""
    return before and after and Quota(after.cores, *map(sub, astuple(after)[1:], astuple(before)[1:]))


def listen_drops(root: Path = PROC) -> int | None:
    """Return how many connections full listen queues have refused since boot; None where they are not counted.

    ListenDrops includes ListenOverflows (linux: net/ipv4/tcp_ipv4.c, tcp_v4_syn_recv_sock), so it alone is read.
    """
    return procfs.tcp_counts(procfs.text_of(f"{root}/net/netstat")).get("ListenDrops")


def ephemeral_ports(root: Path = PROC) -> int | None:
    """Return the number of ports for clients (ip_local_port_range); None where it is unknown."""
    edges = procfs.wholes(procfs.text_of(f"{root}/sys/net/ipv4/ip_local_port_range"))
    return edges[1] - edges[0] + 1 if edges else None


def cpu_ticks(cpus: set[int] | None) -> tuple[float, float] | None:
    """Return (stolen, all) CPU seconds so far of the given cores, or of all; None where steal is not counted."""
    times = psutil.cpu_times(percpu=True)
    if not hasattr(times[0], "steal"):
        return None
    chosen = [time for cpu, time in enumerate(times) if cpus is None or cpu in cpus]
    return sum(time.steal for time in chosen), sum(sum(time[:8]) for time in chosen)


def busy_ns(cpus: set[int] | None) -> int | None:
    """Return how long the only core of ``cpus`` has been busy, including interrupts; None unless it is one core.

    In ticks of the kernel's statistics, 10 ms each (proc(5), /proc/stat).
    """
    if cpus is None or len(cpus) != 1:
        return None
    (cpu,) = cpus
    time = psutil.cpu_times(percpu=True)[cpu]
    return round(1e9 * sum(getattr(time, kind, 0.0) for kind in ("user", "nice", "system", "irq", "softirq")))


@dataclass(frozen=True, slots=True)
class DisturbanceCounts:
    """Counts of disturbances by others up to a moment; None where they are not counted."""

    ticks: tuple[float, float] | None
    """CPU seconds: stolen by the hypervisor, and all."""
    drops: int | None
    """Connections lost in full listen queues."""
    quota: Quota | None = None
    core_kinds: list[int] | None = None
    """The kinds of the cores of client and server; None where all cores are alike."""

    def since(self, before: "DisturbanceCounts") -> dict[str, Any]:
        """Return the disturbances between two moments: steal, listen drops, and what a CPU quota did, if any."""
        steal_share = None
        if before.ticks is not None and self.ticks is not None:
            stolen, all_ticks = (new - old for old, new in zip(before.ticks, self.ticks, strict=True))
            # Within a few ticks, the idle time of a core may decrease (proc(5), iowait), and with it the sum.
            steal_share = stolen / max(stolen, all_ticks) if stolen > 0 else 0.0
        counts = {"steal_share": steal_share, "listen_drops": since(before.drops, self.drops)}
        return counts | {"quota": quota_between(before.quota, self.quota), "core_kinds": self.core_kinds}


def disturbances(cpus: Cpus) -> DisturbanceCounts:
    """Return the current counts: steal on the cores of server and client (on all, where not pinned), listen drops."""
    both = None if cpus.server is None or cpus.client is None else cpus.server | cpus.client
    used = sorted(set(map(kind, both or usable_cores()))) if kinds() else None
    return DisturbanceCounts(cpu_ticks(both), listen_drops(), read_quota(), used)


def since(before: int | None, after: int | None) -> int | None:
    """Return the growth of a count; None where it is unknown at either moment."""
    return None if before is None or after is None else after - before


def run_delay_ns(pid: int, root: Path = PROC) -> int | None:
    """Return how long the main thread of a process has waited, runnable, for a core; None where unknown.

    The second field of /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst).
    """
    counts = procfs.wholes(procfs.text_of(f"{root}/{pid}/schedstat"))
    return counts[1] if counts else None


@cache
def siblings(cpu: int, root: Path = Path("/sys/devices/system/cpu")) -> set[int]:
    """Return the logical CPUs of the same core (the kernel writes them as "0,4" or "0-1")."""
    return set(procfs.ranges(procfs.text_of(f"{root}/cpu{cpu}/topology/thread_siblings_list")) or {cpu})


def _version(distribution: str) -> str | None:
    """Return the version of a distribution; None if it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _setting(path: str) -> str | None:
    """Return the content of a file of the kernel; None where it cannot be read."""
    text = procfs.text_of(path)
    return None if text is None else text.strip()
