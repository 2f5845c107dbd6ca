"""Parsers of the kernel's text files: text in, values out. Missing values are None, no limit is ``UNLIMITED``.

``host``, ``memory`` and ``limits.facts`` read files by ``text_of`` and parse them here; a file that cannot be read is
None, of which each parser makes an unknown value. Formats: proc(5), cgroups(7),
Documentation/admin-guide/cgroup-v2.rst, Documentation/admin-guide/cgroup-v1/.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

UNLIMITED = math.inf
"""What stands for no limit."""
KIB = 1024
"""Bytes of what the kernel calls kB."""
_V1_UNLIMITED = 1 << 62
"""Version 1 writes "no limit" of memory as LONG_MAX rounded down to whole pages (mm/page_counter.c)."""


def text_of(path: str | Path) -> str | None:
    """Return the text of a file; None where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def whole(text: str | None) -> int | None:
    """Return the first number of a file, if any."""
    numbers = wholes(text)
    return numbers[0] if numbers else None


def wholes(text: str | None) -> list[int]:
    """Return the numbers at the start of a file's first line."""
    numbers: list[int] = []
    for word in (text or "").split("\n", 1)[0].split():
        if not word.isdecimal():
            break
        numbers.append(int(word))
    return numbers


def most(text: str | None) -> float | None:
    """Return the limit in a file of a control group; UNLIMITED for none, None if it cannot be read."""
    word = (text or "").strip()
    if word == "max":
        return UNLIMITED
    number = whole(word)
    return UNLIMITED if number is not None and number >= _V1_UNLIMITED else number


def keyed(text: str | None) -> dict[str, int]:
    """Return the numbers of a file with a name and a number per line, as ``pids.events`` and ``memory.stat``."""
    pairs = (line.split() for line in (text or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}


def sizes(text: str | None) -> dict[str, int]:
    """Return, in bytes, the lines of ``/proc/meminfo`` or ``/proc/PID/status`` that are in kB."""
    pairs = re.findall(r"^(\w+):\s+(\d+) kB$", text or "", re.MULTILINE)
    return {name: int(number) * KIB for name, number in pairs}


def fields(text: str | None) -> dict[str, str]:
    """Return the lines of ``/proc/PID/status``."""
    pairs = (line.partition(":") for line in (text or "").splitlines())
    return {name: value.strip() for name, colon, value in pairs if colon}


def tasks(loadavg: str | None) -> int | None:
    """Return the number of tasks of the system: the number after the slash in ``/proc/loadavg`` (``nr_threads``)."""
    match = re.match(r"(?:\S+ ){3}\d+/(\d+)", loadavg or "")
    return int(match[1]) if match else None


def ranges(text: str | None) -> frozenset[int] | None:
    """Return the numbers of ``ip_local_reserved_ports`` or of a list of cores, written as ``8080,9148-9150``."""
    if text is None:
        return None
    numbers: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        numbers.update(range(int(first), int(last or first) + 1))
    return frozenset(numbers)


def bound_to_all(sockets: str | None) -> Iterator[int]:
    """Yield the local ports of ``/proc/net/tcp`` or ``tcp6`` that are bound for every local address."""
    for address, port in re.findall(r"^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) ", sockets or "", re.MULTILINE):
        if set(address) == {"0"}:
            yield int(port, 16)


def tcp_counts(netstat: str | None) -> dict[str, int]:
    """Return the counts of the ``TcpExt`` lines of ``/proc/net/netstat``."""
    lines = [line.split()[1:] for line in (netstat or "").splitlines() if line.startswith("TcpExt:")]
    return dict(zip(lines[0], map(int, lines[1]), strict=False)) if len(lines) == 2 else {}


def holes(maps: str | None) -> list[int]:
    """Return the sizes of the free address ranges between the mappings of ``/proc/PID/maps``."""
    sizes = []
    last = None
    for low, high in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) ", maps or "", re.MULTILINE):
        if last is not None and int(low, 16) > last:
            sizes.append(int(low, 16) - last)
        last = int(high, 16)
    return sizes


def cgroup_folders(cgroup: str | None, mountinfo: str | None, controller: str) -> list[str]:
    """Return the folders in which this controller may limit a process: of its group and of every ancestor.

    Groups above the root of a container's view are not visible.
    """
    folders: list[str] = []
    for line in (cgroup or "").splitlines():
        hierarchy, _, rest = line.partition(":")
        names, colon, path = rest.partition(":")
        if not colon:
            continue
        group = PurePosixPath(path)
        version = 2 if hierarchy == "0" and not names else 1
        for mounted_version, controllers, root, point in _cgroup_mounts(mountinfo):
            fits = version == 2 or controller in controllers.intersection(names.split(","))
            is_inside = ".." not in group.parts and group.is_relative_to(root)  # "/.." in a namespace: outside
            if mounted_version == version and fits and is_inside:
                folder = point / group.relative_to(root)
                folders += [str(step) for step in (folder, *folder.parents) if step.is_relative_to(point)]
                break
    return folders


def _cgroup_mounts(mountinfo: str | None) -> Iterator[tuple[int, set[str], str, PurePosixPath]]:
    """Yield the mounted control groups of ``/proc/PID/mountinfo``.

    Each has its version, its controllers, the folder of the hierarchy that is mounted, and where.
    """
    for line in (mountinfo or "").splitlines():
        words, _, ending = line.partition(" - ")
        head = words.split()
        tail = ending.split()
        if len(head) < 5 or len(tail) < 3:
            continue
        root, point = map(_unescape, head[3:5])
        controllers = set(tail[2].split(","))
        if tail[0] == "cgroup2":
            yield 2, controllers, root, PurePosixPath(point)
        elif tail[0] == "cgroup":
            yield 1, controllers, root, PurePosixPath(point)


def _unescape(word: str) -> str:
    """Decode the octal escapes of mountinfo, such as those for spaces."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)
