"""The parsers of the kernel's files: whole, odd and missing texts."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from inflight.bench.measure import procfs

V2 = "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
SPACE = "30 20 0:26 / /mnt/my\\040groups rw - cgroup2 none rw\n"
V1 = (
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "39 31 0:36 /docker/abc /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
)
V1_GROUPS = "8:pids:/docker/abc/job\n4:memory:/a\n0::/\n"
NETSTAT = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 215 216\nIpExt: InOctets\nIpExt: 5\n"
TCP = "  sl  local_address\n   0: 00000000:8235 00000000:0000 0A\n   1: 0100007F:8236 00000000:0000 0A\n"
MAPS = "00001000-00002000 r-xp\n00002000-00003000 rw-p\n00008000-00009000 rw-p\n0000b000-0000c000 --xp\n"

PARSED: list[tuple[Callable[[str | None], Any], str | None, Any]] = [
    *((procfs.whole, text, None) for text in (None, "", "\n", "many\n", "-1\n")),  # unknown, and not zero
    *((procfs.most, text, None) for text in (None, "", "\n", "many\n", "-1\n")),
    (procfs.most, "max\n", math.inf),
    (procfs.most, "9223372036854771712\n", math.inf),  # as version 1 writes it
    (procfs.most, "300\n", 300),
    (procfs.tasks, "1.05 1.25 2.03 3/86 5690\n", 86),
    (procfs.tasks, "1.05 1.25\n", None),
    (procfs.tasks, None, None),
    (procfs.ranges, "8080,9148-9150\n", frozenset({8080, 9148, 9149, 9150})),
    (procfs.ranges, "\n", frozenset()),
    (procfs.ranges, None, None),
    (procfs.tcp_counts, NETSTAT, {"SyncookiesSent": 0, "ListenOverflows": 215, "ListenDrops": 216}),
    (procfs.tcp_counts, "TcpExt: A\n", {}),
    (procfs.tcp_counts, None, {}),
    (lambda text: list(procfs.bound_to_all(text)), TCP, [0x8235]),
    (lambda text: list(procfs.bound_to_all(text)), None, []),
    (procfs.holes, MAPS, [0x5000, 0x2000]),
    (procfs.holes, None, []),
]


@pytest.mark.parametrize(("parse", "text", "value"), PARSED)
def test_a_text_is_parsed(parse: Callable[[str | None], Any], text: str | None, value: Any) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("cgroup", "mountinfo", "controller", "folders"),
    [
        ("0::/b/a\n", V2, "pids", ["/sys/fs/cgroup/b/a", "/sys/fs/cgroup/b", "/sys/fs/cgroup"]),
        (V1_GROUPS, V1, "memory", ["/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory"]),
        (V1_GROUPS, V1, "pids", ["/sys/fs/cgroup/pids/job", "/sys/fs/cgroup/pids"]),
        ("0::/\n", SPACE, "pids", ["/mnt/my groups"]),
        ("0::/../other\n", V2, "pids", []),  # outside of what is mounted
        ("8:pids:/elsewhere\n", V1, "pids", []),
        (None, V2, "pids", []),
        ("0::/a\n", None, "pids", []),
        ("rubbish\n", "rubbish - cgroup2\n", "pids", []),
    ],
)
def test_every_visible_ancestor_of_a_group_limits_it(
    cgroup: str | None, mountinfo: str | None, controller: str, folders: list[str]
) -> None:
    assert procfs.cgroup_folders(cgroup, mountinfo, controller) == folders
