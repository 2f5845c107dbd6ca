"""Look at this system: which of the readers has its facts."""

import platform
from pathlib import Path

from bench.measure.limits import linux
from bench.measure.limits.facts import Facts

ROOT = Path("/")


def look(pid: int, *, sockets: bool = False) -> Facts:
    """Return what bounds a process: this one, or a child of it; with the ports that are taken if ``sockets`` matter."""
    if platform.system() == "Linux":
        return linux.read(pid, ROOT, sockets=sockets)
    from bench.measure.limits import elsewhere  # psutil is not needed, and not waited for, on Linux

    return elsewhere.read(pid)


def glance(pid: int) -> Facts:
    """Return only what a process takes."""
    return linux.glance(pid, ROOT) if platform.system() == "Linux" else look(pid)


def available_bytes() -> int | None:
    """Return how much memory could be had without swapping; None where nobody says."""
    if platform.system() == "Linux":
        return linux.available_bytes(ROOT)
    from bench.measure.limits import elsewhere

    return elsewhere.available_bytes()


def holes(pid: int) -> list[int]:
    """Return the sizes of the free ranges between what a process has mapped; none where nobody says."""
    return linux.holes(pid, ROOT) if platform.system() == "Linux" else []
