"""Read the facts: on Linux from files, elsewhere from the limits of this process and the sysctls of macOS."""

import os
import platform
import resource
import subprocess
from pathlib import Path

from inflight.bench.measure import procfs
from inflight.bench.measure.limits import linux
from inflight.bench.measure.limits.facts import Facts, Process

ROOT = Path("/")


def look(pid: int, *, sockets: bool = False) -> Facts:
    """Return the facts about this process or a child of it; with ``sockets``, also the ports in use."""
    if platform.system() == "Linux":
        return linux.read(pid, ROOT, sockets=sockets)
    return _elsewhere(pid)


def glance(pid: int) -> Facts:
    """Return only what changes while threads are started."""
    return linux.glance(pid, ROOT) if platform.system() == "Linux" else look(pid)


def available_bytes() -> int | None:
    """Return the memory that is available without swapping; None where it is unknown."""
    if platform.system() == "Linux":
        return linux.available_bytes(ROOT)
    return available_elsewhere()


def holes(pid: int) -> list[int]:
    """Return the sizes of the free ranges between the mappings of a process; none where they are unknown."""
    return linux.holes(pid, ROOT) if platform.system() == "Linux" else []


MACOS = "Darwin"
SYSCTLS = (
    "kern.num_taskthreads", "kern.num_threads", "kern.maxproc", "kern.maxprocperuid",
    "kern.maxfilesperproc", "kern.maxfiles", "kern.num_files",
    "kern.ipc.somaxconn",
    "net.inet.ip.portrange.first", "net.inet.ip.portrange.last",
)  # fmt: skip


def _elsewhere(pid: int) -> Facts:
    """Read the facts on a system without ``/proc``.

    Maps, control groups, the number of tasks and the open descriptors stay unknown.
    """
    system = platform.system()
    return facts_elsewhere(pid, system, _sysctls() if system == MACOS else {}, available_elsewhere())


def facts_elsewhere(pid: int, system: str, sysctls: dict[str, int], available: int | None) -> Facts:
    """Return the facts that follow from sysctls, memory and the limits of this process."""
    first, last = (sysctls.get(f"net.inet.ip.portrange.{end}") for end in ("first", "last"))
    return Facts(
        process=Process(pid, uid=os.getuid()),
        system=system,
        sysctls=sysctls,
        rlimits={name: _rlimit(name) for name in procfs.RLIMITS.values() if hasattr(resource, name)},
        memory={} if available is None else {"MemAvailable": available},
        open_files=sysctls.get("kern.num_files"),
        port_range=None if first is None or last is None else (first, last),
    )


def available_elsewhere() -> int:
    """Return the available memory according to psutil."""
    import psutil  # not needed on Linux

    return int(psutil.virtual_memory().available)


def _rlimit(name: str) -> tuple[float, float]:
    soft, hard = resource.getrlimit(getattr(resource, name))
    return _amount(soft), _amount(hard)


def _amount(value: int) -> float:
    return procfs.UNLIMITED if value == resource.RLIM_INFINITY else value


def _sysctls() -> dict[str, int]:
    found = {name: procfs.whole(_sysctl(name)) for name in SYSCTLS}
    return {name: value for name, value in found.items() if value is not None}


def _sysctl(name: str) -> str | None:
    """Read one setting at a time: an unknown name must not hide the others."""
    try:
        done = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, check=False, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout
