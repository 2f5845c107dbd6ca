"""Machines that do not exist: facts, readings of a calibration, and trees of files as Linux has them."""

from collections.abc import Mapping
from pathlib import Path

from inflight.bench.measure.limits.ceilings import Reading
from inflight.bench.measure.limits.facts import Facts

MIB = 1 << 20
GIB = 1 << 30


def facts(changes: Mapping[str, float | None] | None = None) -> Facts:
    """Return a machine on which vm.max_map_count binds threads, with what is to be different; None: unknown."""
    usual = {
        "vm.max_map_count": 60_050, "kernel.pid_max": 32_768, "kernel.threads-max": 200_000, "MemAvailable": 20 * GIB,
        "tasks": 200, "ids in use": 100, "tasks of this user": 40, "open files": 1000, "soft RLIMIT_NOFILE": 1024,
        "threads": 1, "maps": 50, "descriptors": 10, "VmSize": 20 * MIB, "VmData": 5 * MIB, "memory": 10 * MIB,
    }  # fmt: skip
    return {name: value for name, value in {**usual, **(changes or {})}.items() if value is not None}


def readings(maps_each: int = 3, bytes_each: int = 8 * MIB, memory_each: int = 50_000) -> list[Reading]:
    """Return what a process used that grew evenly from the one above."""
    starts = {"maps": 50, "VmSize": 20 * MIB, "VmData": 5 * MIB, "memory": 10 * MIB}
    each = {"maps": maps_each, "VmSize": bytes_each, "VmData": bytes_each, "memory": memory_each}
    return [(n, {name: start + n * each[name] for name, start in starts.items()}) for n in (0, 500, 1000)]


STATUS = """Name:\tpython3
Umask:\t0022
Pid:\t{pid}
Uid:\t{uid}\t{uid}\t{uid}\t{uid}
VmPeak:\t   21000 kB
VmSize:\t   20000 kB
VmRSS:\t   10000 kB
VmData:\t    5000 kB
VmPTE:\t      72 kB
Threads:\t{threads}
CapEff:\t{capabilities:016x}
"""


def status(pid: int, uid: int, threads: int, capabilities: int = 0) -> str:
    """Return the text of /proc/PID/status."""
    return STATUS.format(pid=pid, uid=uid, threads=threads, capabilities=capabilities)


def write(root: Path, files: dict[str, str]) -> None:
    """Make files under a root; a text that starts with ``-> `` is a link."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_text(text, "utf-8")


def tree(root: Path) -> Path:
    """Make the files of a Linux machine with a few processes; return its root."""
    write(
        root,
        {
            "proc/loadavg": "0.10 0.20 0.30 2/431 9000\n",
            "proc/meminfo": "MemAvailable: 8000000 kB\nKernelStack: 4000 kB\nSUnreclaim: 1000 kB\nCommitLimit: 9 kB\n",
            "proc/sys/vm/max_map_count": "65530\n",
            "proc/sys/vm/overcommit_memory": "0\n",
            "proc/sys/kernel/pid_max": "4194304\n",
            "proc/sys/fs/file-max": "5000\n",
            "proc/sys/fs/file-nr": "1234\t0\t9223372036854775807\n",
            "proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
            "proc/sys/net/ipv4/ip_local_reserved_ports": "80,32800,40000-40009\n",
            "proc/700/status": status(700, uid=1000, threads=3),
            "proc/700/maps": "00400000-00500000 r-xp 0 00:00 0\n00700000-00800000 rw-p 0 00:00 0\n",
            "proc/700/cgroup": "0::/user.slice/app\n",
            "proc/700/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n",
            "proc/700/fd/0": "", "proc/700/fd/1": "",
            "proc/700/ns/user": "-> user:[4026531837]",
            "proc/800/status": status(800, uid=1000, threads=7),
            "proc/900/status": status(900, uid=0, threads=50),
            "proc/12/status": status(12, uid=0, threads=1),
            "proc/self/ns/pid": "-> pid:[4026531836]",
            "sys/fs/cgroup/user.slice/app/pids.max": "max\n",
            "sys/fs/cgroup/user.slice/app/pids.current": "5\n",
            "sys/fs/cgroup/user.slice/pids.max": "300\n",
            "sys/fs/cgroup/user.slice/pids.current": "60\n",
            "sys/fs/cgroup/user.slice/pids.events": "max 4\n",
            "sys/fs/cgroup/user.slice/memory.max": "1073741824\n",
            "sys/fs/cgroup/user.slice/memory.current": "524288000\n",
            "sys/fs/cgroup/user.slice/memory.stat": "anon 1000\ninactive_file 124288000\n",
        },
    )  # fmt: skip
    return root
