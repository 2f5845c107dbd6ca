"""The facts of a machine, read from a tree of files."""

import math
import os
import platform
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.measure.limits import facts
from inflight.bench.measure.limits.ceilings import list_ceilings
from inflight.bench.measure.limits.facts import CAP_SYS_ADMIN, CAP_SYS_RESOURCE, look
from inflight.bench.rows.kinds import RESOURCES
from tests.limits.made_machine import status, tree, write

SLICE = "/sys/fs/cgroup/user.slice"
VERSION_1 = {
    "proc/700/cgroup": "8:pids:/job\n4:memory:/job\n",
    "proc/700/mountinfo": (
        "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n39 31 0:36 / /cg/pids rw - cgroup cgroup rw,pids\n"
    ),
    "cg/pids/job/pids.max": "64\n",
    "cg/pids/job/pids.current": "9\n",
    "cg/memory/job/memory.limit_in_bytes": "268435456\n",
    "cg/memory/job/memory.usage_in_bytes": "1000000\n",
    "cg/memory/job/memory.failcnt": "2\n",
    "cg/memory/memory.limit_in_bytes": "9223372036854771712\n",
}
pytestmark = pytest.mark.skipif(platform.system() != "Linux", reason="reads files as Linux has them")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tree(tmp_path)


@pytest.mark.parametrize(
    ("changes", "values"),
    [
        (
            {},
            {
                "threads": 3,
                "maps": 2,
                "descriptors": 2,
                "VmSize": 20_480_000,
                "VmData": 5_120_000,
                "memory": (10_000 + 72 + 4000 + 1000) * 1024,
                "tasks": 431,
                "tasks of this user": 3 + 7,
                "ids in use": 431 - 1,  # process 12 has a reserved id
                "open files": 1234,
                "kernel.threads-max": None,
                "CommitLimit": None,  # overcommit is allowed
                "net.ipv4.ip_local_port_range": 28_232 - 1 - 10,  # port 80 is reserved, and not in the range
                "ports in use": None,
                f"{SLICE}/app/pids.max": math.inf,
                f"{SLICE}/pids.max": 300,
                f"{SLICE}/pids.max used": 60,
                f"{SLICE}/pids.max refusals": 4,
                f"{SLICE}/memory.max": 1 << 30,
                f"{SLICE}/memory.max used": 400_000_000,  # without droppable file cache
            },
        ),
        (
            {"proc/self/ns/pid": "-> pid:[4026532441]"},
            {
                "ids in use": 431,  # of a container
            },
        ),
        (
            {"proc/sys/vm/overcommit_memory": "2\n"},
            {
                "CommitLimit": 9 * 1024,
            },
        ),
        (
            {"proc/net/tcp": "   0: 00000000:8235 00000000:0000 0A\n"},
            {
                "ports in use": 1,
            },
        ),
        (
            {"proc/net/tcp6": f"   0: {'0' * 32}:0050 {'0' * 32}:0000 0A\n"},
            {
                "ports in use": 0,
            },
        ),
        (
            VERSION_1,
            {
                "/cg/pids/job/pids.max": 64,
                "/cg/pids/job/pids.max used": 9,
                "/cg/pids/job/pids.max refusals": None,
                "/cg/memory/job/memory.limit_in_bytes": 1 << 28,
                "/cg/memory/job/memory.limit_in_bytes used": 1_000_000,
                "/cg/memory/job/memory.limit_in_bytes refusals": 2,
                "/cg/memory/memory.limit_in_bytes": math.inf,
            },
        ),
    ],
)
def test_each_fact_is_read_from_its_file(root: Path, changes: dict[str, str], values: dict[str, float | None]) -> None:
    write(root, changes)

    found = look(700, root, sockets=True)

    assert {name: found.get(name) for name in values} == values


@pytest.mark.parametrize(
    ("process", "namespace", "free"),
    [
        ({"uid": 1000}, "user:[4026531837]", set()),
        ({"uid": 0}, "user:[4026531837]", {"RLIMIT_NPROC"}),
        ({"uid": 1000, "capabilities": CAP_SYS_RESOURCE}, "user:[4026531837]", {"RLIMIT_NPROC"}),
        ({"uid": 1000, "capabilities": CAP_SYS_ADMIN}, "user:[4026531837]", {"RLIMIT_NPROC", "fs.file-max"}),
        ({"uid": 0, "capabilities": CAP_SYS_ADMIN}, "user:[4026532999]", set()),
    ],
)
def test_limits_do_not_bind_root_or_the_capable_of_the_first_namespace(
    root: Path, process: dict[str, Any], namespace: str, free: set[str]
) -> None:
    write(root, {"proc/700/status": status(700, threads=1, **process), "proc/700/ns/user": f"-> {namespace}"})

    assert {"RLIMIT_NPROC", "fs.file-max"} - look(700, root).keys() == free


@pytest.mark.parametrize("text", [None, b"\xff rubbish \x00: 1::2 - - -\n"], ids=["missing", "rubbish"])
def test_files_that_cannot_be_read_leave_only_the_rlimits(root: Path, text: bytes | None) -> None:
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.unlink() if text is None else path.write_bytes(text)

    assert all("RLIMIT" in name for name in look(700, root).keys() - {"maps", "descriptors"})


def test_this_machine_is_read() -> None:
    release = threading.Event()
    before = look(os.getpid())
    waiting = [threading.Thread(target=release.wait) for _ in range(3)]
    for thread in waiting:
        thread.start()

    after = look(os.getpid())

    release.set()
    for thread in waiting:
        thread.join()
    assert after["threads"] == before["threads"] + 3
    assert facts.available_bytes() > 0


MACOS = {"kern.num_taskthreads": 4096, "kern.maxfilesperproc": 61_440, "kern.ipc.somaxconn": 128}
MACOS |= {"net.inet.ip.portrange.first": 49_152, "net.inet.ip.portrange.last": 65_535}


@pytest.mark.parametrize("system", ["Darwin", "FreeBSD"])
def test_elsewhere_sysctls_and_rlimits_are_upper_bounds(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def sysctl(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        text = MACOS.get(command[-1], "") if system == "Darwin" else ""
        return subprocess.CompletedProcess(command, 0, f"{text}\n")

    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(subprocess, "run", sysctl)

    found = {name: list_ceilings(name, look(os.getpid())) for name in RESOURCES}

    most = {ceiling.name: ceiling.most for known in found.values() for ceiling in known if "RLIMIT" not in ceiling.name}
    assert most.pop("MemAvailable") > 0
    assert "RLIMIT_NOFILE" in {ceiling.name for ceiling in found["descriptors"]}
    macos = {"kern.num_taskthreads": 4096, "kern.maxfilesperproc": 61_440, "net.inet.ip.portrange": 16_384}
    assert most == (macos | {"kern.ipc.somaxconn": 129} if system == "Darwin" else {})
    assert all("the amount in use is unknown" in ceiling.evidence for ceiling in found["ports"])
