"""Readings about the limits on a process, as frozen values. Unknown values are None or absent, never 0."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Quota:
    """One limit of a control group, for all its processes together."""

    of: Literal["tasks", "memory"]
    file: str
    most: float
    used: int | None
    """Without the file cache that the kernel drops first when memory is short."""
    refused: int | None
    """How often it was reached so far."""


@dataclass(frozen=True, slots=True)
class Process:
    """The process to which the limits apply."""

    pid: int
    threads: int | None = None
    maps: int | None = None
    descriptors: int | None = None
    vm_bytes: int | None = None
    data_bytes: int | None = None
    rss_bytes: int | None = None
    page_tables_bytes: int | None = None
    uid: int | None = None
    """The real user, whose tasks RLIMIT_NPROC counts."""
    capabilities: int | None = None
    """Effective capabilities, as bits."""
    in_first_user_namespace: bool | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """Readings of the system and of one process."""

    process: Process
    system: str = "Linux"
    sysctls: Mapping[str, int] = field(default_factory=dict)
    rlimits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """(soft, hard)."""
    memory: Mapping[str, int] = field(default_factory=dict)
    """Lines of ``/proc/meminfo``, in bytes."""
    quotas: tuple[Quota, ...] = ()
    tasks: int | None = None
    """Threads of all processes and of the kernel."""
    low_tasks: int | None = None
    """How many of them have a reserved id."""
    user_tasks: int | None = None
    open_files: int | None = None
    port_range: tuple[int, int] | None = None
    reserved_ports: frozenset[int] | None = None
    ports_bound_to_all: frozenset[int] | None = None
    listen_overflows: int | None = None
    """How many connections full accept queues have refused since boot."""
