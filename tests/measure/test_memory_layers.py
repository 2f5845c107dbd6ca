"""Memory in layers: values are read, missing ones are unknown, and changes by others are noticed."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from inflight.bench.measure import held, memory

MEMINFO = "MemTotal:       24000000 kB\nMemAvailable:   23000000 kB\nSlab:              20000 kB\n"
MORE = "KernelStack:        1600 kB\nPageTables:         2000 kB\n"
SOCKSTAT = "sockets: used 300\nTCP: inuse 24 orphan 0 tw 7 alloc 25 mem 3\nUDP: inuse 1 mem 2\n"
LOADAVG = "0.52 0.58 0.59 3/467 12345\n"


def a_system(folder: Path, **files: str) -> Path:
    (folder / "net").mkdir()
    for name, text in files.items():
        (folder / name.replace("_", "/")).write_text(text, "utf-8")
    return folder


def test_the_system_is_read_in_bytes(tmp_path: Path) -> None:
    found = memory.system_layers(
        a_system(
            tmp_path,
            meminfo=MEMINFO + MORE,
            net_sockstat=SOCKSTAT,
            loadavg=LOADAVG,
        )
    )

    assert found == {
        "kernel_stack_bytes": 1600 * 1024,
        "slab_bytes": 20000 * 1024,
        "socket_bytes": 3 * os.sysconf("SC_PAGE_SIZE"),
        "tcp_sockets": 24,
        "tasks": 467,
    }


def test_unreadable_memory_is_unknown_and_never_zero(tmp_path: Path) -> None:
    found = memory.system_layers(a_system(tmp_path, meminfo=MEMINFO))

    assert found["slab_bytes"] == 20000 * 1024
    assert {key for key, value in found.items() if value is None} == set(found) - {"slab_bytes"}


def test_without_proc_all_layers_are_unknown(tmp_path: Path) -> None:
    assert set(memory.system_layers(tmp_path / "nowhere").values()) == {None}


def test_unused_memory_is_free_or_cached_but_not_shared(tmp_path: Path) -> None:
    parts = "MemFree:  8000 kB\nBuffers:   400 kB\nCached:   3000 kB\nSwapCached: 5 kB\nShmem:    70 kB\n"

    assert memory.unused_bytes(a_system(tmp_path, meminfo=MEMINFO + parts)) == (8000 + 400 + 3000 - 70) * 1024


def test_without_meminfo_available_memory_counts_as_unused(tmp_path: Path) -> None:
    found = memory.unused_bytes(a_system(tmp_path, meminfo="MemFree: 8000 kB\nBuffers: 1 kB\nCached: 3 kB\n"))

    assert found == pytest.approx(psutil.virtual_memory().available, rel=0.5)


def ladder(*readings: tuple[int | None, int | None]) -> "tuple[Callable[[], Any], list[float]]":
    """Return a reader of USS and slab that advances step by step, and the list of pauses."""
    left = [({"uss_bytes": uss}, {"slab_bytes": slab}) for uss, slab in readings]
    return (lambda: left.pop(0)), []


@pytest.mark.parametrize(
    ("readings", "steps"),
    [
        ([(1000, 9000), (1000, 9000)], 1),
        ([(998, 9000), (1000, 9018)], 1),
        ([(1000, 9000), (1003, 9000), (1003, 9000)], 2),
        ([(1003, 9000), (1000, 9000), (1000, 9000)], 2),
        ([(1000, 9000), (1000, 9019), (1000, 9019)], 2),
        ([(1000, None), (2000, 1), (2000, None)], 2),
        ([(None, None), (None, None)], 1),
    ],
)
def test_memory_is_at_rest_when_two_readings_agree_to_two_thousandths(
    readings: list[tuple[int | None, int | None]], steps: int
) -> None:
    read, pauses = ladder(*readings)

    own, system = memory.settled(read, math.inf, pauses.append, pause_s=0.25)

    assert (own["uss_bytes"], system["slab_bytes"]) == readings[-1]
    assert pauses == [0.25] * steps


def test_after_the_deadline_memory_is_read_once() -> None:
    read, pauses = ladder((1000, 9000))

    assert memory.settled(read, -math.inf, pauses.append) == ({"uss_bytes": 1000}, {"slab_bytes": 9000})
    assert pauses == []


def test_page_tables_of_a_process_are_read_if_the_kernel_reports_them(tmp_path: Path) -> None:
    own = os.getpid()
    (tmp_path / str(own)).mkdir()

    assert memory.process_layers(own, tmp_path)["page_tables_bytes"] is None

    (tmp_path / str(own) / "status").write_text("VmRSS:\t  9 kB\nVmPTE:\t     124 kB\n", "utf-8")
    found = memory.process_layers(own, tmp_path)

    assert found["page_tables_bytes"] == 124 * 1024
    assert (found["uss_bytes"] or 0) > 1_000_000


def readings(stage: str, **values: int | None) -> dict[str, Any]:
    usual: dict[str, int | None] = {"tasks": 100, "tcp_sockets": 10, "threads": 1, "connections": 0}
    return {f"{stage}_{name}": value for name, value in (usual | values).items()}


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ({}, None),
        ({"tasks": 1100, "threads": 1001}, None),
        ({"connections": 1000, "tcp_sockets": 2010}, None),
        ({"tasks": 100 + held.MAX_STRANGERS}, None),
        ({"tasks": 101 + held.MAX_STRANGERS}, "of others: +6 tasks"),
        ({"tasks": 80}, "of others: -20 tasks"),
        ({"tcp_sockets": 30}, "of others: +20 tcp sockets"),
        ({"tasks": 1000, "threads": 1001, "tcp_sockets": 3}, "of others: -100 tasks, -7 tcp sockets"),
        ({"tasks": None, "tcp_sockets": None}, None),
    ],
)
def test_changes_by_others_are_noticed(then: dict[str, int | None], said: str | None) -> None:
    assert held.disturbance(readings("base"), readings("held", **then), "held") == said
