"""Read the numbers that limits depend on, by name. What cannot be read is left out, and limits that do not bind.

``limits`` and ``swarm.layout`` call ``look``, which reads all; ``threads`` also calls ``usage``, which reads what
changes while threads are started. ``ceilings`` computes with the facts. A name is that of a sysctl, of setrlimit(2), of
a line of ``/proc/meminfo`` or ``/proc/PID/status``, or the path of a file of a control group. The process may be a
child that was just refused a thread: reading needs no thread, no process and little memory.
"""

import platform
import resource
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from inflight.bench.measure import procfs

Facts = Mapping[str, float]
"""Values by name: counts, or bytes."""

ROOT = Path("/")
"""Where the kernel's files are; tests give another folder."""
SYSCTLS = (
    "vm.max_map_count", "vm.overcommit_memory", "kernel.pid_max", "kernel.threads-max", "fs.nr_open", "fs.file-max",
    "net.core.somaxconn", "net.netfilter.nf_conntrack_max", "net.netfilter.nf_conntrack_count",
)  # fmt: skip
"""Settings of Linux that limit something."""
NUMBERS = {
    "tasks": ("proc/loadavg", procfs.tasks),
    "open files": ("proc/sys/fs/file-nr", procfs.whole),
    **{name: (f"proc/sys/{name.replace('.', '/')}", procfs.whole) for name in SYSCTLS},
}
"""The file of each fact that is one number, and the function that reads the number in its text."""
SYSCTLS_ELSEWHERE = (
    "kern.num_taskthreads", "kern.num_threads", "kern.maxfilesperproc", "kern.maxfiles", "kern.num_files",
    "kern.ipc.somaxconn", "net.inet.ip.portrange.first", "net.inet.ip.portrange.last",
)  # fmt: skip
"""The same of macOS: limits, and some of the numbers in use."""
RLIMITS = ("RLIMIT_NPROC", "RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_STACK")
"""Limits of the process."""
QUOTAS = (
    ("pids", "pids.max", "pids.current", "pids.events", "max"),
    ("memory", "memory.max", "memory.current", "memory.events", "max"),
    ("memory", "memory.high", "memory.current", "memory.events", "high"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.failcnt", ""),
)
"""Controller, limit, use, and where refusals are counted: a file, and the key in it."""
MEMORY = ("VmRSS", "VmPTE", "KernelStack", "SUnreclaim")
"""What threads need: memory and page tables of the process; stacks and slab of the kernel. Only differences count."""
RESERVED_PIDS = 300
"""Process ids below this number are assigned once after boot, and never again (kernel/pid.c)."""
NEVER_OVERCOMMIT = 2
"""The value of vm.overcommit_memory with which CommitLimit binds."""
CAP_SYS_ADMIN, CAP_SYS_RESOURCE = 1 << 21, 1 << 24
"""Bits of the capability sets (include/uapi/linux/capability.h)."""
FIRST_USER_NAMESPACE, FIRST_PID_NAMESPACE = "user:[4026531837]", "pid:[4026531836]"
"""Initial namespaces of the machine (include/linux/proc_ns.h, PROC_USER_INIT_INO and PROC_PID_INIT_INO)."""


def look(pid: int, root: Path = ROOT, *, sockets: bool = False) -> Facts:
    """Return the facts about this process or a child of it.

    The ports in use are read only with ``sockets``, because there may be very many.
    """
    limits = {name: resource.getrlimit(getattr(resource, name))[0] for name in RLIMITS}
    limits["soft RLIMIT_NOFILE"], limits["RLIMIT_NOFILE"] = resource.getrlimit(resource.RLIMIT_NOFILE)
    facts = {name: procfs.UNLIMITED if value == resource.RLIM_INFINITY else value for name, value in limits.items()}
    if platform.system() != "Linux":
        return facts | _elsewhere()
    facts |= usage(pid, root) | dict(_quotas(root, pid)) | _ports(root, sockets=sockets)
    read = {name: parse(_text(root, path)) for name, (path, parse) in NUMBERS.items()}
    facts |= {name: value for name, value in read.items() if value is not None}
    return _binding(facts, root, pid)


def usage(pid: int, root: Path = ROOT) -> dict[str, float]:
    """Return only what changes while threads are started: of the process, and the memory of the system (bytes)."""
    status = _text(root, f"proc/{pid}/status")
    facts: dict[str, float] = {**procfs.sizes(_text(root, "proc/meminfo")), **procfs.sizes(status)}
    counts = {
        "threads": procfs.whole(procfs.fields(status).get("Threads")),
        "maps": (_text(root, f"proc/{pid}/maps") or "").count("\n"),
        "descriptors": len(_names(root, f"proc/{pid}/fd")),
    }
    facts |= {name: count for name, count in counts.items() if count}  # 0: of a process that has ended
    if facts.keys() >= set(MEMORY):
        facts["memory"] = sum(facts[name] for name in MEMORY)
    return facts


def available_bytes() -> int:
    """Return the memory that is available without swapping."""
    return int(psutil.virtual_memory().available)


def _binding(facts: dict[str, float], root: Path, pid: int) -> Facts:
    """Add the tasks that limits count, and leave out limits that do not bind this process.

    kernel/fork.c, copy_process, on RLIMIT_NPROC: ``user != INIT_USER && !capable(CAP_SYS_RESOURCE) &&
    !capable(CAP_SYS_ADMIN)``; ``capable`` is about the first user namespace. CAP_SYS_ADMIN may exceed fs.file-max
    (fs/file_table.c). A container has ids of its own, and none of the reserved ones.
    """
    names = [name for name in _names(root, "proc") if name.isdecimal()]  # folders of processes, by their ids
    processes = {int(name): procfs.fields(_text(root, f"proc/{name}/status")) for name in names}
    uids = {number: procfs.whole(fields.get("Uid")) for number, fields in processes.items()}
    if (uid := uids.get(pid)) is not None:
        same_user = [fields for number, fields in processes.items() if uids[number] == uid]
        facts["tasks of this user"] = sum(procfs.whole(fields.get("Threads")) or 0 for fields in same_user)
    if "tasks" in facts:
        is_first = _is_link(root / "proc/self/ns/pid", FIRST_PID_NAMESPACE)
        # Outside of containers, the limit leaves out the reserved ids (``beyond`` in limits.toml), so their users, too.
        facts["ids in use"] = facts["tasks"] - is_first * sum(number < RESERVED_PIDS for number in processes)
    is_first = _is_link(root / f"proc/{pid}/ns/user", FIRST_USER_NAMESPACE)
    capabilities = int(processes.get(pid, {}).get("CapEff", "0"), 16) if is_first else 0
    if (is_first and uid == 0) or capabilities & (CAP_SYS_ADMIN | CAP_SYS_RESOURCE):
        facts.pop("RLIMIT_NPROC")
    if capabilities & CAP_SYS_ADMIN:
        facts.pop("fs.file-max", None)
    if facts.get("vm.overcommit_memory") != NEVER_OVERCOMMIT:
        facts.pop("CommitLimit", None)
    return facts


def _quotas(root: Path, pid: int) -> Iterator[tuple[str, float]]:
    """Yield the limits of all control groups of a process, what is in use of each, and how often it was reached."""
    cgroup, mountinfo = _text(root, f"proc/{pid}/cgroup"), _text(root, f"proc/{pid}/mountinfo")
    for controller, limit, usage_file, counter, key in QUOTAS:
        for folder in procfs.cgroup_folders(cgroup, mountinfo, controller):
            if (most := procfs.most(_text(root, f"{folder}/{limit}"))) is None:
                continue
            yield f"{folder}/{limit}", most
            if (used := procfs.whole(_text(root, f"{folder}/{usage_file}"))) is not None:
                # the kernel drops inactive file cache first when memory is short
                stat = procfs.keyed(_text(root, f"{folder}/memory.stat")) if controller == "memory" else {}
                yield f"{folder}/{limit} used", used - stat.get("total_inactive_file", stat.get("inactive_file", 0))
            text = _text(root, f"{folder}/{counter}")
            if (refusals := procfs.keyed(text).get(key) if key else procfs.whole(text)) is not None:
                yield f"{folder}/{limit} refusals", refusals


def _ports(root: Path, *, sockets: bool) -> dict[str, float]:
    """Count the ports that the kernel chooses from, and with ``sockets`` those of them that are bound to all addresses.

    Only the latter are in use for every connection; without ``sockets``, or without a readable list, they stay unknown.
    """
    edges = procfs.wholes(_text(root, "proc/sys/net/ipv4/ip_local_port_range"))
    if len(edges) != 2:
        return {}
    reserved = procfs.ranges(_text(root, "proc/sys/net/ipv4/ip_local_reserved_ports")) or frozenset()
    ports = set(range(edges[0], edges[1] + 1)) - reserved
    facts = {"net.ipv4.ip_local_port_range": len(ports), "first port": edges[0], "last port": edges[1]}
    texts = [_text(root, f"proc/net/{name}") for name in ("tcp", "tcp6")] if sockets else [None]
    if texts != [None] * len(texts):  # one of the two could be read
        facts["ports in use"] = len(ports.intersection(port for text in texts for port in procfs.bound_to_all(text)))
    return dict(facts)


def _elsewhere() -> dict[str, float]:
    """Return the sysctls of macOS and the available memory: without ``/proc``, most of the use stays unknown."""
    facts: dict[str, float] = {"MemAvailable": available_bytes()}
    for name in SYSCTLS_ELSEWHERE:  # one at a time: an unknown name must not hide the others
        try:
            done = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, check=False, timeout=5)
        except (OSError, subprocess.TimeoutExpired):
            return facts
        if (value := procfs.whole(done.stdout)) is not None:
            facts[name] = value
    first, last = (facts.get(f"net.inet.ip.portrange.{end}") for end in ("first", "last"))
    return facts | ({"net.inet.ip.portrange": last - first + 1} if first and last else {})


def _is_link(path: Path, target: str) -> bool:
    """Return whether a link leads to a target."""
    try:
        return str(path.readlink()) == target
    except OSError:
        return False


def _text(root: Path, path: str) -> str | None:
    """Return a file below the root; None where it cannot be read."""
    return procfs.text_of(root / path.lstrip("/"))


def _names(root: Path, path: str) -> list[str]:
    """Return the names of what a folder below the root has."""
    try:
        return [entry.name for entry in (root / path).iterdir()]
    except OSError:
        return []
