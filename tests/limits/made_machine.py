"""Machines that do not exist: facts, readings of a calibration, and trees of files as Linux has them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from inflight.bench.measure.limits.facts import Facts, Process
from inflight.bench.measure.limits.growth import Reading

MIB = 1 << 20
GIB = 1 << 30

PROCESS = Process(
    pid=700,
    threads=1,
    maps=50,
    descriptors=10,
    vm_bytes=20 * MIB,
    data_bytes=5 * MIB,
    rss_bytes=10 * MIB,
    page_tables_bytes=80_000,
    uid=1000,
    capabilities=0,
    in_first_user_namespace=True,
)


def facts(**changes: Any) -> Facts:
    """Return a machine on which vm.max_map_count binds threads, with what is to be different."""
    usual = Facts(
        process=PROCESS,
        sysctls={"vm.max_map_count": 60_050, "kernel.pid_max": 32_768, "kernel.threads-max": 200_000},
        memory={"MemAvailable": 20 * GIB},
        tasks=200,
        low_tasks=100,
        user_tasks=40,
    )
    return replace(usual, **changes)


def process(**changes: Any) -> Process:
    """Return the process of that machine, with what is to be different."""
    return replace(PROCESS, **changes)


def readings(maps_each: int = 3, bytes_each: int = 8 * MIB, memory_each: int = 50_000) -> list[Reading]:
    """Return what a process took that grew evenly from the one above."""
    return [
        Reading(n, 50 + maps_each * n, 20 * MIB + bytes_each * n, 5 * MIB + bytes_each * n, 10 * MIB + memory_each * n)
        for n in (0, 500, 1000)
    ]


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
CapEff:\t0000000000000000
"""
LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max data size             unlimited            unlimited            bytes
Max stack size            8388608              unlimited            bytes
Max processes             1000                 2000                 processes
Max open files            1024                 524288               files
Max address space         unlimited            unlimited            bytes
"""


def write(root: Path, files: dict[str, str]) -> None:
    """Make files under a root."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def tree(root: Path) -> Path:
    """Make the files of a Linux machine with a few processes; return its root."""
    write(
        root,
        {
            "proc/loadavg": "0.10 0.20 0.30 2/431 9000\n",
            "proc/meminfo": "MemTotal:       16000000 kB\nMemAvailable:    8000000 kB\nKernelStack:        4000 kB\n",
            "proc/sys/vm/max_map_count": "65530\n",
            "proc/sys/kernel/pid_max": "4194304\n",
            "proc/sys/fs/file-nr": "1234\t0\t9223372036854775807\n",
            "proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
            "proc/sys/net/ipv4/ip_local_reserved_ports": "32800,40000-40009\n",
            "proc/700/status": STATUS.format(pid=700, uid=1000, threads=3),
            "proc/700/limits": LIMITS,
            "proc/700/maps": "00400000-00500000 r-xp 0 00:00 0\n00700000-00800000 rw-p 0 00:00 0\n",
            "proc/700/cgroup": "0::/user.slice/app\n",
            "proc/700/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n",
            "proc/700/fd/0": "", "proc/700/fd/1": "",
            "proc/800/status": STATUS.format(pid=800, uid=1000, threads=7),
            "proc/900/status": STATUS.format(pid=900, uid=0, threads=50),
            "proc/12/task/12/comm": "", "proc/12/task/450/comm": "",
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
    (root / "proc/700/ns").mkdir()
    (root / "proc/700/ns/user").symlink_to("user:[4026531837]")
    (root / "proc/self/ns").mkdir(parents=True)
    (root / "proc/self/ns/pid").symlink_to("pid:[4026531836]")
    return root
