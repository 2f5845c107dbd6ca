"""The facts of a machine, read from a tree of files."""

import os
import platform
import subprocess
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.measure.limits import facts
from inflight.bench.measure.limits.ceilings import list_ceilings
from inflight.bench.measure.limits.facts import CAP_SYS_ADMIN, CAP_SYS_RESOURCE, look
from inflight.bench.rows.kinds import RESOURCES
from tests.limits.made_machine import status, tree, write

CASES = tomllib.loads(Path(__file__).with_name("facts.toml").read_text("utf-8"))["case"]
pytestmark = pytest.mark.skipif(platform.system() != "Linux", reason="reads files as Linux has them")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tree(tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_each_fact_is_read_from_its_file(root: Path, case: dict[str, Any]) -> None:
    write(root, case["files"])

    found = look(700, root, sockets=True)

    assert {name: found.get(name, "unknown") for name in case["facts"]} == case["facts"]


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


@pytest.mark.parametrize(
    "text",
    [None, b"\xff rubbish \x00: 1::2 - - -\n"],
    ids=["missing", "rubbish"],
)
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
    macos = {
        "kern.num_taskthreads": 4096,
        "kern.maxfilesperproc": 61_440,
        "net.inet.ip.portrange": 16_384,
    }
    assert most == (macos | {"kern.ipc.somaxconn": 129} if system == "Darwin" else {})
    assert all("the amount in use is unknown" in ceiling.evidence for ceiling in found["ports"])
