"""The facts of a machine, read from a tree of files."""

import math
import os
import platform
import threading
from pathlib import Path

import pytest

from inflight.bench.measure.limits import linux, look
from inflight.bench.measure.limits.bounds import RESOURCES, bounds, not_known
from inflight.bench.measure.limits.facts import Process
from tests.limits.made_machine import tree, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tree(tmp_path)


def test_the_process_is_read(root: Path) -> None:
    process = linux.read(700, root).process

    assert (process.threads, process.maps, process.descriptors, process.uid) == (3, 2, 2, 1000)
    assert (process.vm_bytes, process.data_bytes, process.page_tables_bytes) == (20_480_000, 5_120_000, 73_728)
    assert process.in_first_user_namespace is True


def test_ports_that_are_taken_everywhere_are_read_if_they_matter(root: Path) -> None:
    write(root, {"proc/net/tcp": "   0: 00000000:8235 00000000:0000 0A\n"})

    assert linux.read(700, root).ports_bound_to_all is None
    assert linux.read(700, root, sockets=True).ports_bound_to_all == frozenset({0x8235})
    assert linux.read(700, root).port_range == (32_768, 60_999)


def test_tasks_are_counted_for_the_system_for_the_user_and_below_the_reserved_ids(root: Path) -> None:
    facts = linux.read(700, root)

    assert facts.tasks == 431
    assert facts.user_tasks == 3 + 7
    assert facts.low_tasks == 1, "the other thread of process 12 has the id 450"


def test_ids_of_a_container_are_not_taken_for_those_of_the_system(root: Path) -> None:
    (root / "proc/self/ns/pid").unlink()
    (root / "proc/self/ns/pid").symlink_to("pid:[4026532441]")

    assert linux.read(700, root).low_tasks is None


def test_quotas_of_all_ancestors_are_read_with_what_is_in_use_and_was_refused(root: Path) -> None:
    quotas = {quota.file: quota for quota in linux.read(700, root).quotas}

    assert quotas["/sys/fs/cgroup/user.slice/app/pids.max"].most == math.inf
    limited = quotas["/sys/fs/cgroup/user.slice/pids.max"]
    assert (limited.most, limited.used, limited.refused) == (300, 60, 4)
    memory = quotas["/sys/fs/cgroup/user.slice/memory.max"]
    assert (memory.of, memory.most, memory.used) == ("memory", 1 << 30, 400_000_000), "without droppable file cache"


def test_version_1_of_control_groups_is_read(root: Path) -> None:
    write(
        root,
        {
            "proc/700/cgroup": "8:pids:/job\n4:memory:/job\n",
            "proc/700/mountinfo": (
                "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n"
                "39 31 0:36 / /cg/pids rw - cgroup cgroup rw,pids\n"
            ),
            "cg/pids/job/pids.max": "64\n",
            "cg/pids/job/pids.current": "9\n",
            "cg/memory/job/memory.limit_in_bytes": "268435456\n",
            "cg/memory/job/memory.usage_in_bytes": "1000000\n",
            "cg/memory/job/memory.failcnt": "2\n",
            "cg/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )

    quotas = {quota.file: quota for quota in linux.read(700, root).quotas}

    assert quotas["/cg/pids/job/pids.max"].most == 64
    assert quotas["/cg/pids/job/pids.max"].refused is None
    assert (
        quotas["/cg/memory/job/memory.limit_in_bytes"].most,
        quotas["/cg/memory/job/memory.limit_in_bytes"].refused,
    ) == (1 << 28, 2)
    assert quotas["/cg/memory/memory.limit_in_bytes"].most == math.inf


def test_before_linux_3_14_free_memory_stands_for_what_is_available(tmp_path: Path) -> None:
    assert linux.available_bytes(tmp_path) is None
    write(tmp_path, {"proc/meminfo": "MemFree:         2000 kB\n"})
    assert linux.available_bytes(tmp_path) == 2_048_000
    assert linux.available_bytes(tree(tmp_path)) == 8_192_000_000


def test_on_a_machine_that_tells_nothing_everything_is_unknown(tmp_path: Path) -> None:
    facts = linux.read(700, tmp_path)

    assert [facts.tasks, facts.low_tasks, facts.user_tasks, facts.open_files, facts.port_range] == [None] * 5
    assert facts.process == Process(700)
    assert facts.sysctls == {}
    assert facts.quotas == ()
    assert [bound.name for resource in RESOURCES for bound in bounds(resource, facts)] == ["listen(2) backlog"]


def test_every_file_may_be_rubbish(root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.write_bytes(b"\xff rubbish \x00: 1::2 - - -\n")

    facts = linux.read(700, root)

    assert facts.tasks is None
    assert facts.quotas == ()


@pytest.mark.skipif(platform.system() != "Linux", reason="reads /proc")
def test_this_machine_is_read() -> None:
    release = threading.Event()
    before = look.look(os.getpid())
    waiting = [threading.Thread(target=release.wait) for _ in range(3)]
    for thread in waiting:
        thread.start()

    after = look.look(os.getpid())

    release.set()
    for thread in waiting:
        thread.join()
    assert before.process.threads is not None
    assert after.process.threads == before.process.threads + 3
    assert before.process.uid == os.getuid()
    assert (look.available_bytes() or 0) > 0
    assert look.holes(os.getpid())


def test_macos_tells_limits_and_sysctls_and_says_what_it_does_not() -> None:
    sysctls = {
        "kern.num_taskthreads": 4096,
        "kern.maxfilesperproc": 61_440,
        "kern.ipc.somaxconn": 128,
        "net.inet.ip.portrange.first": 49_152,
        "net.inet.ip.portrange.last": 65_535,
    }

    facts = look.facts_elsewhere(700, "Darwin", sysctls, 8 << 30)

    assert {"kern.num_taskthreads", "MemAvailable"} <= {bound.name for bound in bounds("threads", facts)}
    assert "kern.maxfilesperproc" in {bound.name for bound in bounds("descriptors", facts)}
    (ports,) = bounds("ports", facts)
    assert (ports.limit, ports.used, ports.shared) == (16_384, None, True)
    assert {"kern.ipc.somaxconn", "listen(2) backlog"} == {bound.name for bound in bounds("backlog", facts)}
    for resource in RESOURCES:
        (sentence,) = not_known(resource, facts)
        assert "Darwin has no /proc" in sentence


def test_another_system_tells_its_rlimits() -> None:
    facts = look.facts_elsewhere(700, "FreeBSD", {}, None)

    assert facts.rlimits["RLIMIT_NOFILE"][1] > 0
    assert facts.sysctls == {}
    assert bounds("ports", facts) == []
    assert (look.available_elsewhere() or 0) > 0
