"""The limits on each resource: one function per resource, from facts to bounds. Pure.

A bound is a limit and how much of it is in use. Before a ramp it gives a prediction (``ceilings``). After a failure it
is a suspect (``diagnose``).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from inflight.bench.measure.limits.facts import Facts, Quota
from inflight.bench.measure.procfs import UNLIMITED

RESERVED_PIDS = 300
"""Process ids below this number are assigned once after boot, and never again (kernel/pid.c)."""
NEVER_OVERCOMMIT = 2
BACKLOG = 65_535
"""Backlog that the listener asks listen(2) for: more than it gets."""
CAP_SYS_ADMIN, CAP_SYS_RESOURCE = 1 << 21, 1 << 24
"""Bits of the capability sets (include/uapi/linux/capability.h)."""

Costs = Literal["one", "maps", "vm_bytes", "data_bytes", "memory_bytes"]
"""How much of the limit one more piece of the resource uses: one, or a figure of ``growth.Reading``."""


@dataclass(frozen=True, slots=True)
class Bound:
    """One limit on a resource, and how full it is."""

    name: str
    limit: float
    used: int | None
    unit: str
    shared: bool
    """Whether other processes share it, and are refused too when it is full."""
    remedy: str
    costs: Costs = "one"
    note: str = ""
    setting: str = ""
    """The value that is set, where it differs from what is allowed."""
    reached: bool = False
    """Whether the kernel counted a refusal during the ramp, whatever ``used`` says."""

    @property
    def sentence(self) -> str:
        """The figures as one sentence of evidence."""
        parts = [f"{self.name} is {self.setting or amount(self.limit, self.unit)}", self.note]
        if self.used is None:
            parts.append("the amount in use is unknown")
        elif self.used:
            parts.append(f"{amount(self.used, self.unit)} in use")
        return "; ".join(part for part in parts if part)


def amount(value: float, unit: str) -> str:
    """Format a limit or the amount in use."""
    if value == UNLIMITED:
        return "unlimited"
    return f"{value:,.0f} {unit}" if unit != "bytes" else f"{value / (1 << 20):,.0f} MiB"


def bounds(resource: str, facts: Facts) -> list[Bound]:
    """Return the known limits on a resource. Unknown and unlimited ones are left out."""
    return [bound for bound in _TABLES[resource](facts) if bound.limit != UNLIMITED]


def not_known(resource: str, facts: Facts) -> list[str]:
    """Return sentences about what cannot be read of a resource on this system."""
    if facts.system == "Linux":
        return []
    unknown = {
        "threads": "the number of threads and processes",
        "descriptors": "the number of open descriptors",
        "ports": "the list of ports in use",
        "backlog": "the number of connections that full queues refused",
        "memory": "the size of the address space",
    }[resource]
    return [f"{facts.system} has no /proc: {unknown} cannot be read, so each figure is an upper bound"]


def _threads(facts: Facts) -> Iterator[Bound]:
    process = facts.process
    yield from _sysctl(facts, "vm.max_map_count", process.maps, "maps", costs="maps")
    yield from _address_space(facts, ", or give threads a smaller stack (threading.stack_size)")
    yield from _sysctl(facts, "kern.num_taskthreads", process.threads, "threads")
    yield from _pid_max(facts)
    yield from _sysctl(facts, "kernel.threads-max", facts.tasks, "tasks", shared=True)
    yield from _sysctl(facts, "kern.num_threads", facts.tasks, "threads", shared=True)
    yield from _nproc(facts)
    yield from (_group(quota, "tasks", "one") for quota in facts.quotas if quota.of == "tasks")
    yield from _memory_of_all(facts)


def _descriptors(facts: Facts) -> Iterator[Bound]:
    opened = facts.process.descriptors
    if "RLIMIT_NOFILE" in facts.rlimits:
        soft, hard = facts.rlimits["RLIMIT_NOFILE"]
        note = (
            "" if soft == hard else f"the soft limit is {amount(soft, 'descriptors')}: a program must raise it itself"
        )
        remedy = "raise RLIMIT_NOFILE: ulimit -Hn as root, LimitNOFILE= of the systemd unit, or limits.conf(5)"
        yield Bound("RLIMIT_NOFILE", hard, opened, "descriptors", shared=False, remedy=remedy, note=note)
    yield from _sysctl(facts, "fs.nr_open", opened, "descriptors", note="the maximum of RLIMIT_NOFILE")
    yield from _sysctl(facts, "kern.maxfilesperproc", opened, "descriptors")
    yield from _files(facts)


def _ports(facts: Facts) -> Iterator[Bound]:
    if facts.port_range is not None:
        first, last = facts.port_range
        inside = range(first, last + 1)
        reserved = [port for port in facts.reserved_ports or () if port in inside]
        taken = [port for port in facts.ports_bound_to_all or () if port in inside and port not in reserved]
        linux = facts.system == "Linux"
        name = "net.ipv4.ip_local_port_range" if linux else "net.inet.ip.portrange"
        wider = 'sysctl -w net.ipv4.ip_local_port_range="1024 65535"' if linux else f"sysctl -w {name}.first=1024"
        yield Bound(
            name,
            len(inside) - len(reserved),
            None if facts.ports_bound_to_all is None else len(taken),
            "ports",
            # connect(2) skips every port to which any socket is bound, at any address
            # (__inet_hash_connect in net/ipv4/inet_hashtables.c, fastreuse >= 0), so no port is left for others.
            shared=True,
            remedy=f"widen the range ({wider}), or use more source addresses or more destinations",
            note=f"{first} to {last}, {len(reserved)} of them in ip_local_reserved_ports",
        )
    yield from _files(facts)


def _backlog(facts: Facts) -> Iterator[Bound]:
    # The queue is full when it holds more than the limit (include/net/sock.h, sk_acceptq_is_full)
    settings = [("listen(2) backlog", BACKLOG, "ask listen(2) for more")]
    for name in ("net.core.somaxconn", "kern.ipc.somaxconn"):
        if name in facts.sysctls:
            value = facts.sysctls[name]
            settings.append((name, value, f"sysctl -w {name}={max(2 * value, BACKLOG)}, and ask listen(2) for as much"))
    for name, value, remedy in settings:
        yield Bound(
            name,
            value + 1,
            0,
            "connections",
            shared=False,
            remedy=remedy,
            note="one more fits",
            setting=amount(value, "connections"),
        )
    tracked = facts.sysctls.get("net.netfilter.nf_conntrack_count")
    yield from _sysctl(facts, "net.netfilter.nf_conntrack_max", tracked, "connections", shared=True)
    yield from _files(facts)


def _memory(facts: Facts) -> Iterator[Bound]:
    yield from _address_space(facts)
    yield from _memory_of_all(facts)


def _sysctl(
    facts: Facts, name: str, used: int | None, unit: str, *, shared: bool = False, costs: Costs = "one", note: str = ""
) -> Iterator[Bound]:
    if name in facts.sysctls:
        value = facts.sysctls[name]
        yield Bound(name, value, used, unit, shared, f"sysctl -w {name}={2 * value}", costs, note)


def _pid_max(facts: Facts) -> Iterator[Bound]:
    """Count ids without those that are assigned only once after boot."""
    if "kernel.pid_max" in facts.sysctls:
        value = facts.sysctls["kernel.pid_max"]
        low = facts.low_tasks or 0
        used = None if facts.tasks is None else max(0, facts.tasks - low)
        yield Bound(
            "kernel.pid_max",
            max(0, value - RESERVED_PIDS),
            used,
            "ids",
            shared=True,
            remedy=f"sysctl -w kernel.pid_max={2 * value} (at most 4194304, proc(5))",
            note=f"the first {RESERVED_PIDS} are not reused",
            setting=amount(value, "ids"),
        )


def _nproc(facts: Facts) -> Iterator[Bound]:
    """Leave out RLIMIT_NPROC for root of the first user namespace, and for a process with one of two capabilities.

    kernel/fork.c, copy_process: ``user != INIT_USER && !capable(CAP_SYS_RESOURCE) && !capable(CAP_SYS_ADMIN)``;
    ``capable`` is about the first user namespace.
    """
    process = facts.process
    trusted = process.uid == 0 or (process.capabilities or 0) & (CAP_SYS_ADMIN | CAP_SYS_RESOURCE)
    if "RLIMIT_NPROC" in facts.rlimits and not (trusted and process.in_first_user_namespace):
        limit, _ = facts.rlimits["RLIMIT_NPROC"]
        remedy = "raise RLIMIT_NPROC: ulimit -u, or limits.conf(5); under systemd LimitNPROC="
        note = f"for all visible processes of user {process.uid}"
        yield Bound("RLIMIT_NPROC", limit, facts.user_tasks, "tasks", shared=True, remedy=remedy, note=note)


def _address_space(facts: Facts, instead: str = "") -> Iterator[Bound]:
    process = facts.process
    tables: tuple[tuple[str, int | None, str, Costs], ...] = (
        ("RLIMIT_AS", process.vm_bytes, "ulimit -v", "vm_bytes"),
        ("RLIMIT_DATA", process.data_bytes, "ulimit -d", "data_bytes"),
    )
    for name, used, how, costs in tables:
        if name in facts.rlimits:
            remedy = f"raise {name}: {how} (in KiB){instead}"
            yield Bound(name, facts.rlimits[name][0], used, "bytes", shared=False, remedy=remedy, costs=costs)


def _memory_of_all(facts: Facts) -> Iterator[Bound]:
    memory = facts.memory
    if facts.sysctls.get("vm.overcommit_memory") == NEVER_OVERCOMMIT and "CommitLimit" in memory:
        yield Bound(
            "CommitLimit",
            memory["CommitLimit"],
            memory.get("Committed_AS"),
            "bytes",
            shared=True,
            remedy="raise vm.overcommit_ratio or vm.overcommit_kbytes, or allow overcommit: vm.overcommit_memory=0",
            costs="data_bytes",
            note="vm.overcommit_memory is 2",
        )
    if "MemAvailable" in memory:
        yield Bound(
            "MemAvailable",
            memory["MemAvailable"],
            0,
            "bytes",
            shared=True,
            remedy="add memory, or end other programs",
            costs="memory_bytes",
            note="what could be had without swapping",
        )
    yield from (_group(quota, "bytes", "memory_bytes") for quota in facts.quotas if quota.of == "memory")


def _group(quota: Quota, unit: str, costs: Costs) -> Bound:
    note = "" if quota.refused is None else f"{quota.refused:,} refusals counted since it was created"
    remedy = (
        f"write a larger number into {quota.file} (under systemd: TasksMax=, MemoryMax=; in a container: its options)"
    )
    return Bound(quota.file, quota.most, quota.used, unit, shared=True, remedy=remedy, costs=costs, note=note)


def _files(facts: Facts) -> Iterator[Bound]:
    """Leave out ``fs.file-max`` where it does not bind: CAP_SYS_ADMIN may exceed it (fs/file_table.c)."""
    process = facts.process
    if not (process.in_first_user_namespace and (process.capabilities or 0) & CAP_SYS_ADMIN):
        yield from _sysctl(facts, "fs.file-max", facts.open_files, "files", shared=True)
    yield from _sysctl(facts, "kern.maxfiles", facts.open_files, "files", shared=True)


_TABLES: dict[str, Callable[[Facts], Iterator[Bound]]] = {
    "threads": _threads,
    "descriptors": _descriptors,
    "ports": _ports,
    "backlog": _backlog,
    "memory": _memory,
}
RESOURCES = tuple(_TABLES)
