"""What the kernel's files say: their texts read, whole, odd and missing."""

import math

import pytest

from inflight.bench.measure import procfs

V2 = "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = (
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "39 31 0:36 /docker/abc /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
)


@pytest.mark.parametrize("text", [None, "", "\n", "many\n", "-1\n"])
def test_what_is_no_number_is_unknown_and_not_zero(text: str | None) -> None:
    assert procfs.whole(text) is None
    assert procfs.most(text) is None


def test_no_limit_is_not_the_same_as_an_unknown_one() -> None:
    assert procfs.most("max\n") == math.inf
    assert procfs.most("9223372036854771712\n") == math.inf, "version 1 writes it so"
    assert procfs.most("300\n") == 300


def test_the_tasks_of_the_system_stand_behind_the_slash() -> None:
    assert procfs.tasks("1.05 1.25 2.03 3/86 5690\n") == 86
    assert procfs.tasks("1.05 1.25\n") is None
    assert procfs.tasks(None) is None


def test_reserved_ports_are_single_ones_and_ranges() -> None:
    assert procfs.ranges("8080,9148-9150\n") == frozenset({8080, 9148, 9149, 9150})
    assert procfs.ranges("\n") == frozenset()
    assert procfs.ranges(None) is None


def test_the_count_of_full_queues_is_found_by_its_name() -> None:
    text = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 215 216\nIpExt: InOctets\nIpExt: 5\n"

    assert procfs.tcp_counts(text)["ListenOverflows"] == 215
    assert procfs.tcp_counts("TcpExt: A\n") == {}
    assert procfs.tcp_counts(None) == {}


def test_ports_bound_to_all_addresses_are_those_of_the_address_zero() -> None:
    tcp = (
        "  sl  local_address rem_address   st\n"
        "   0: 00000000:8235 00000000:0000 0A\n"
        "   1: 0100007F:8236 00000000:0000 0A\n"
    )
    tcp6 = "   0: 00000000000000000000000000000000:07E8 00000000000000000000000000000000:0000 0A\n"

    assert list(procfs.bound_to_all(tcp)) == [0x8235]
    assert list(procfs.bound_to_all(tcp6)) == [0x07E8]
    assert list(procfs.bound_to_all(None)) == []


def test_holes_lie_between_mappings() -> None:
    maps = (
        "00001000-00002000 r-xp\n"
        "00002000-00003000 rw-p\n"
        "00008000-00009000 rw-p\n"
        "ffffffffff600000-ffffffffff601000 --xp\n"
    )

    assert procfs.holes(maps)[:1] == [0x5000]
    assert len(procfs.holes(maps)) == 2
    assert procfs.holes(None) == []


def test_every_ancestor_of_a_group_is_found_in_version_2() -> None:
    assert procfs.cgroup_folders("0::/user.slice/app\n", V2, "pids") == [
        "/sys/fs/cgroup/user.slice/app",
        "/sys/fs/cgroup/user.slice",
        "/sys/fs/cgroup",
    ]


def test_in_version_1_each_controller_has_a_tree_of_its_own() -> None:
    cgroup = "8:pids:/docker/abc/job\n4:memory:/a\n0::/\n"

    assert procfs.cgroup_folders(cgroup, V1, "memory") == ["/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory"]
    assert procfs.cgroup_folders(cgroup, V1, "pids") == ["/sys/fs/cgroup/pids/job", "/sys/fs/cgroup/pids"]


def test_a_group_outside_of_what_is_mounted_is_unknown() -> None:
    assert procfs.cgroup_folders("0::/../other\n", V2, "pids") == []
    assert procfs.cgroup_folders("8:pids:/elsewhere\n", V1, "pids") == []
    assert procfs.cgroup_folders(None, V2, "pids") == []
    assert procfs.cgroup_folders("0::/a\n", None, "pids") == []
    assert procfs.cgroup_folders("rubbish\n", "rubbish - cgroup2\n", "pids") == []


def test_a_folder_may_have_a_space_in_its_name() -> None:
    mountinfo = "30 20 0:26 / /mnt/my\\040groups rw - cgroup2 none rw\n"

    assert procfs.cgroup_folders("0::/\n", mountinfo, "pids") == ["/mnt/my groups"]
