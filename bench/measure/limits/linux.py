"""Read the facts on Linux from files. What cannot be read is None.

The process may be another one, such as a child that was just refused a thread. Reading needs no thread, no process and
little memory, so it works when a resource is exhausted.
"""

from pathlib import Path
from typing import Literal

from inflight.bench.measure import procfs
from inflight.bench.measure.limits.bounds import RESERVED_PIDS
from inflight.bench.measure.limits.facts import Facts, Process, Quota

SYSCTLS = (
    "vm.max_map_count", "vm.overcommit_memory",
    "kernel.pid_max", "kernel.threads-max",
    "fs.nr_open", "fs.file-max",
    "net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog",
    "net.netfilter.nf_conntrack_max", "net.netfilter.nf_conntrack_count",
)  # fmt: skip
FIRST_USER_NAMESPACE = "user:[4026531837]"
FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""Initial namespaces of the machine (include/linux/proc_ns.h, PROC_USER_INIT_INO and PROC_PID_INIT_INO)."""
_LEVELS = {
    "tasks": (("pids", "pids.max", "pids.current"),),
    "memory": (
        ("memory", "memory.max", "memory.current"),
        ("memory", "memory.high", "memory.current"),
        ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ),
}


def read(pid: int, root: Path, *, sockets: bool = False) -> Facts:
    """Read the facts about a process from the files under ``root``.

    The ports in use are read only with ``sockets``, because there may be very many.
    """
    process, user_tasks = _process(root, pid), None
    if process.uid is not None:
        user_tasks = _user_tasks(root, process.uid)
    ports = procfs.wholes(_text(root, "proc/sys/net/ipv4/ip_local_port_range"))
    return Facts(
        process=process,
        sysctls=_sysctls(root),
        rlimits=procfs.rlimits(_text(root, f"proc/{pid}/limits")),
        memory=procfs.sizes(_text(root, "proc/meminfo")),
        quotas=_quotas(root, pid),
        tasks=procfs.tasks(_text(root, "proc/loadavg")),
        low_tasks=_low_tasks(root),
        user_tasks=user_tasks,
        open_files=procfs.whole(_text(root, "proc/sys/fs/file-nr")),
        port_range=(ports[0], ports[1]) if len(ports) == 2 else None,
        reserved_ports=procfs.ranges(_text(root, "proc/sys/net/ipv4/ip_local_reserved_ports")),
        ports_bound_to_all=_ports_bound_to_all(root) if sockets else None,
        listen_overflows=procfs.tcp_counts(_text(root, "proc/net/netstat")).get("ListenOverflows"),
    )


def glance(pid: int, root: Path) -> Facts:
    """Read only what changes while threads are started: the process, and the memory of the system."""
    return Facts(_process(root, pid), memory=procfs.sizes(_text(root, "proc/meminfo")))


def available_bytes(root: Path) -> int | None:
    """Return the memory that is available without swapping; before Linux 3.14, the free memory."""
    memory = procfs.sizes(_text(root, "proc/meminfo"))
    return memory.get("MemAvailable", memory.get("MemFree"))


def holes(pid: int, root: Path) -> list[int]:
    """Return the sizes of the free ranges between the mappings of a process."""
    return procfs.holes(_text(root, f"proc/{pid}/maps"))


def _process(root: Path, pid: int) -> Process:
    text = _text(root, f"proc/{pid}/status")
    named, held = procfs.fields(text), procfs.sizes(text)
    capabilities = named.get("CapEff")
    namespace = _link(root, f"proc/{pid}/ns/user")
    return Process(
        pid,
        threads=procfs.whole(named.get("Threads")),
        maps=_lines(root, f"proc/{pid}/maps"),
        descriptors=_count(root, f"proc/{pid}/fd"),
        vm_bytes=held.get("VmSize"),
        data_bytes=held.get("VmData"),
        rss_bytes=held.get("VmRSS"),
        page_tables_bytes=held.get("VmPTE"),
        uid=procfs.whole(named.get("Uid")),
        capabilities=None if capabilities is None else int(capabilities, 16),
        in_first_user_namespace=None if namespace is None else namespace == FIRST_USER_NAMESPACE,
    )


def _sysctls(root: Path) -> dict[str, int]:
    found = {name: procfs.whole(_text(root, f"proc/sys/{name.replace('.', '/')}")) for name in SYSCTLS}
    return {name: value for name, value in found.items() if value is not None}


def _user_tasks(root: Path, uid: int) -> int | None:
    """Count the threads of all visible processes of one real user."""
    total = 0
    for name in _names(root, "proc") or ():
        if name.isdecimal():
            named = procfs.fields(_text(root, f"proc/{name}/status"))
            if procfs.whole(named.get("Uid")) == uid:
                total += procfs.whole(named.get("Threads")) or 0
    return total or None  # this process is one of them: 0 means that nothing could be seen


def _low_tasks(root: Path) -> int | None:
    """Count the tasks with a reserved id; None in a container, which has ids of its own."""
    if _link(root, "proc/self/ns/pid") != FIRST_PID_NAMESPACE:
        return None
    low = [name for name in _names(root, "proc") or () if name.isdecimal() and int(name) < RESERVED_PIDS]
    threads = [thread for name in low for thread in _names(root, f"proc/{name}/task") or ()]
    return sum(int(thread) < RESERVED_PIDS for thread in threads)


def _quotas(root: Path, pid: int) -> tuple[Quota, ...]:
    cgroup, mountinfo = _text(root, f"proc/{pid}/cgroup"), _text(root, f"proc/{pid}/mountinfo")
    found = []
    for of, files in _LEVELS.items():
        for controller, limit, usage in files:
            for folder in procfs.cgroup_folders(cgroup, mountinfo, controller):
                most = procfs.most(_text(root, f"{folder}/{limit}"))
                if most is not None:
                    used = procfs.whole(_text(root, f"{folder}/{usage}"))
                    kind: Literal["tasks", "memory"] = "tasks" if of == "tasks" else "memory"
                    found.append(
                        Quota(
                            kind, f"{folder}/{limit}", most, _net(root, folder, used, of), _refused(root, folder, limit)
                        )
                    )
    return tuple(found)


def _net(root: Path, folder: str, used: int | None, of: str) -> int | None:
    if of == "tasks" or used is None:
        return used
    stat = procfs.keyed(_text(root, f"{folder}/memory.stat"))
    return max(0, used - stat.get("total_inactive_file", stat.get("inactive_file", 0)))


def _refused(root: Path, folder: str, limit: str) -> int | None:
    """Return how often a limit was reached: ``max`` of pids.events and memory.events, or memory.failcnt."""
    if limit == "memory.limit_in_bytes":
        return procfs.whole(_text(root, f"{folder}/memory.failcnt"))
    kind, _, key = limit.partition(".")
    return procfs.keyed(_text(root, f"{folder}/{kind}.events")).get(key)


def _ports_bound_to_all(root: Path) -> frozenset[int] | None:
    texts = [_text(root, f"proc/net/{name}") for name in ("tcp", "tcp6")]
    if texts == [None, None]:
        return None
    return frozenset(port for text in texts for port in procfs.bound_to_all(text))


def _lines(root: Path, path: str) -> int | None:
    try:
        with _at(root, path).open("rb") as file:
            count = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 16), b""))
    except OSError:
        return None
    return count or None  # of a process that has ended, or of another user's, nothing can be read


def _text(root: Path, path: str) -> str | None:
    return procfs.text_of(_at(root, path))


def _names(root: Path, path: str) -> list[str] | None:
    try:
        return [found.name for found in _at(root, path).iterdir()]
    except OSError:
        return None


def _count(root: Path, path: str) -> int | None:
    names = _names(root, path)
    return None if names is None else len(names)


def _link(root: Path, path: str) -> str | None:
    try:
        return str(_at(root, path).readlink())
    except OSError:
        return None


def _at(root: Path, path: str) -> Path:
    return root / path.lstrip("/")
