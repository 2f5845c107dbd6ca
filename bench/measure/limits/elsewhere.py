"""The facts of systems without ``/proc``: limits of this process (its children inherit them), and macOS's sysctls.

What only Linux tells stays unknown: maps, control groups, how many tasks there are, what a process has open.
"""

import os
import platform
import resource
import subprocess

import psutil

from bench.measure.limits import parse
from bench.measure.limits.facts import Facts, Process

MACOS = "Darwin"
SYSCTLS = (
    "kern.num_taskthreads", "kern.num_threads", "kern.maxproc", "kern.maxprocperuid",
    "kern.maxfilesperproc", "kern.maxfiles", "kern.num_files",
    "kern.ipc.somaxconn",
    "net.inet.ip.portrange.first", "net.inet.ip.portrange.last",
)  # fmt: skip


def read(pid: int) -> Facts:
    """Read what bounds a process of ours."""
    system = platform.system()
    return facts(pid, system, _sysctls() if system == MACOS else {}, available_bytes())


def facts(pid: int, system: str, sysctls: dict[str, int], available: int | None) -> Facts:
    """Return what is known of a system from its sysctls, its memory and this process's limits."""
    first, last = (sysctls.get(f"net.inet.ip.portrange.{end}") for end in ("first", "last"))
    return Facts(
        process=Process(pid, uid=os.getuid()),
        system=system,
        sysctls=sysctls,
        rlimits={name: _rlimit(name) for name in parse.RLIMITS.values() if hasattr(resource, name)},
        memory={} if available is None else {"MemAvailable": available},
        open_files=sysctls.get("kern.num_files"),
        port_range=None if first is None or last is None else (first, last),
    )


def available_bytes() -> int | None:
    """Return how much memory could be had without swapping."""
    return int(psutil.virtual_memory().available)


def _rlimit(name: str) -> tuple[float, float]:
    soft, hard = resource.getrlimit(getattr(resource, name))
    return _amount(soft), _amount(hard)


def _amount(value: int) -> float:
    return parse.UNLIMITED if value == resource.RLIM_INFINITY else value


def _sysctls() -> dict[str, int]:
    found = {name: parse.whole(_sysctl(name)) for name in SYSCTLS}
    return {name: value for name, value in found.items() if value is not None}


def _sysctl(name: str) -> str | None:
    """Ask one by one: a name that this version lacks must not hide the others."""
    try:
        done = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, check=False, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout
