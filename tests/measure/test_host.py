"""The cores of a run, as seen from outside, and the kernel's counts of disturbances."""

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from inflight.bench.measure import host, procfs
from inflight.bench.measure.host import ANY, Cpus, DisturbanceCounts
from tests.limits.made_machine import write
from tests.measure.workshop import Workshop, experiment

# Tells on which cores the processes of a run may be while it crawls.
WATCHES = """
import json

def crawl(job, frontier):
    (server,) = servers()
    found = {"worker": psutil.Process(), "server": server, "harness": psutil.Process(os.getppid())}
    with open(os.environ["SEEN"], "w") as file:
        json.dump({name: process.cpu_affinity() for name, process in found.items()}, file)
    honest(job, frontier)
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot pin")
def test_server_and_worker_of_a_run_have_cores_of_their_own(workshop: Workshop, tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    workshop.add_strategy("watches", WATCHES.replace('os.environ["SEEN"]', repr(str(seen))))

    (row,) = workshop.measure(experiment("watches").replace("pin = false", "pin = true"))

    allowed = os.sched_getaffinity(0)
    cpus = {name: set(found) for name, found in json.loads(seen.read_text("utf-8")).items()}
    assert row.knobs.cpus == sorted(cpus["worker"])
    if len(allowed) == 1:
        assert cpus == {"worker": allowed, "server": allowed, "harness": allowed}
    else:
        assert len(cpus["worker"]) == len(cpus["server"]) == 1
        assert cpus["worker"] | cpus["server"] <= allowed
        assert not cpus["worker"] & cpus["server"]
        assert cpus["harness"] == cpus["server"], "the harness must leave the worker's core alone"


CASES = tomllib.loads(Path(__file__).with_name("cores.toml").read_text("utf-8"))
ALIKE: dict[int, int] = {}


def cores(text: str) -> Any:
    """Return the CPUs of a list as the kernel writes it: a frozen set, which stands for either kind of set."""
    return procfs.ranges(f"{text}\n") or frozenset()


@pytest.mark.parametrize(
    ("choose", "case"),
    [
        *((host.apart, case) for case in CASES["apart"]),
        *((host.divided, case) for case in CASES["halves"]),
    ],
)
def test_server_and_client_are_on_different_cores_of_one_kind_or_on_halves_of_whole_cores(
    choose: Callable[..., Cpus], case: dict[str, Any]
) -> None:
    siblings = {cpu: core for core in map(cores, case["cores"].split()) for cpu in core}
    kinds = case.get("kinds", {})

    chosen = choose(cores(case["allowed"]), siblings.__getitem__, lambda cpu: kinds.get(str(cpu), 0))

    assert chosen == (Cpus(*map(cores, case["chosen"])) if "chosen" in case else ANY)


def speeds(file: str, *values: int) -> dict[str, str]:
    """Return the files of a machine whose CPUs have these values."""
    files = {f"system/cpu/cpu{cpu}/{file}": f"{value}\n" for cpu, value in enumerate(values)}
    return files | {"system/cpu/online": f"0-{len(values) - 1}\n"}


INTEL = {"cpu_core/cpus": "0-3\n", "cpu_atom/cpus": "4,5\n"}
FREQUENCY = "cpufreq/cpuinfo_max_freq"


@pytest.mark.parametrize(
    ("files", "kinds"),
    [
        ({}, ALIKE),
        (speeds("cpu_capacity", 1024, 1024), ALIKE),
        (speeds("cpu_capacity", 446, 446, 1024, 1024), {0: 3, 1: 3, 2: 0, 3: 0}),
        (speeds("cpu_capacity", 250, 870, 1024), {0: 6, 1: 0, 2: 0}),
        (speeds(FREQUENCY, 4_800_000, 4_600_000, 4_700_000), ALIKE),  # some cores are preferred
        (speeds(FREQUENCY, 4_700_000, 4_700_000, 3_500_000), {0: 0, 1: 0, 2: 1}),
        (speeds("cpu_capacity", 1024, 1024) | speeds(FREQUENCY, 5_000_000, 3_300_000), {0: 0, 1: 1}),
        (INTEL, {0: 0, 1: 0, 2: 0, 3: 0, 4: 1, 5: 1}),
        (INTEL | {"cpu_lowpower/cpus": "6-7\n"}, {0: 0, 1: 0, 2: 0, 3: 0, 4: 1, 5: 1, 6: 4, 7: 4}),
        (INTEL | speeds(FREQUENCY, 1, 1, 1, 1, 9, 9), {0: 0, 1: 0, 2: 0, 3: 0, 4: 1, 5: 1}),
    ],
)
def test_cores_are_of_several_kinds_where_intel_says_so_or_speeds_differ_clearly(
    tmp_path: Path, files: dict[str, str], kinds: dict[int, int]
) -> None:
    write(tmp_path, files)

    assert host.kinds(tmp_path) == kinds


@pytest.mark.parametrize(
    ("cpus", "used"),
    [
        (Cpus({0}, {1}), [0]),
        (Cpus({2}, {3}), [1]),
        (Cpus({2}, {0}), [0, 1]),
        (Cpus({0, 1}, {2, 3}), [0, 1]),
    ],
)
def test_a_trial_and_the_machine_have_the_kinds_of_cores(
    monkeypatch: pytest.MonkeyPatch, cpus: Cpus, used: list[int]
) -> None:
    monkeypatch.setattr(host, "kinds", lambda: {0: 0, 1: 0, 2: 1, 3: 1})

    assert host.disturbances(cpus).since(host.disturbances(cpus))["core_kinds"] == used
    assert host.machine()["slow_cores"] == [2, 3]
    assert Cpus({0}, {1}, frozenset({2, 3})).client_cores(3) == frozenset({1, 2, 3})


@pytest.mark.parametrize("choose", [host.choose_cpus, host.halves])
def test_without_pinning_nothing_is_chosen(choose: Callable[..., Cpus]) -> None:
    assert choose(pin=False) == ANY


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("5\n", {5}),
        ("0,4\n", {0, 4}),
        ("2-5\n", {2, 3, 4, 5}),
        ("0-1,8-9\n", {0, 1, 8, 9}),
    ],
)
def test_the_threads_of_a_core_are_read_from_a_cpulist(tmp_path: Path, text: str, cpus: set[int]) -> None:
    topology = tmp_path / "cpu5" / "topology"
    topology.mkdir(parents=True)
    (topology / "thread_siblings_list").write_text(text, "utf-8")

    assert host.siblings(5, tmp_path) == cpus
    assert host.siblings(6, tmp_path) == {6}, "a CPU of which nothing is known is a core of its own"


def test_the_counts_of_the_kernel_are_read_from_proc_or_unknown(tmp_path: Path) -> None:
    assert (host.listen_drops(tmp_path), host.ephemeral_ports(tmp_path), host.run_delay_ns(7, tmp_path)) == (None,) * 3
    for folder in ("net", "sys/net/ipv4", "7"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "net" / "netstat").write_text(
        "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 22 333\nIpExt: ListenDrops\nIpExt: 9\n",
        "utf-8",
    )
    (tmp_path / "sys/net/ipv4/ip_local_port_range").write_text("32768\t60999\n", "utf-8")
    (tmp_path / "7" / "schedstat").write_text("5000 600 70\n", "utf-8")

    assert host.listen_drops(tmp_path) == 333
    assert host.ephemeral_ports(tmp_path) == 28_232
    assert host.run_delay_ns(7, tmp_path) == 600


def test_disturbances_are_counted_between_two_moments() -> None:
    before, after = DisturbanceCounts((10.0, 1000.0), 7), DisturbanceCounts((13.0, 1060.0), 12)

    alike = {"quota": None, "core_kinds": None}
    assert after.since(before) == {"steal_share": 0.05, "listen_drops": 5} | alike
    assert after.since(after) == {"steal_share": 0.0, "listen_drops": 0} | alike
    for unknown in (DisturbanceCounts(None, None), DisturbanceCounts(None, 7)):
        assert after.since(unknown)["steal_share"] is unknown.since(before)["steal_share"] is None
    assert after.since(DisturbanceCounts(None, None))["listen_drops"] is None
    assert DisturbanceCounts(None, None).since(before)["listen_drops"] is None


@pytest.mark.parametrize(
    ("after", "share"),
    [((10.02, 1000.01), 1.0), ((10.02, 999.99), 1.0), ((10.0, 999.99), 0.0), ((10.01, 1000.02), 0.5)],
)
def test_the_share_of_steal_is_a_share_even_where_the_idle_time_decreases(
    after: tuple[float, float], share: float
) -> None:
    before = DisturbanceCounts((10.0, 1000.0), 0)

    assert DisturbanceCounts(after, 0).since(before)["steal_share"] == pytest.approx(share)


def test_the_cpu_time_of_some_cores_excludes_other_cores() -> None:
    before = psutil.cpu_times(percpu=True)
    last = len(before) - 1
    ticks, busy_ns = host.cpu_ticks({last}), host.busy_ns({last})
    after = psutil.cpu_times(percpu=True)

    assert busy_ns is not None
    assert (before[last].user + before[last].system) * 1e9 - 1 <= busy_ns
    assert busy_ns <= (sum(after[last][:8]) - after[last].idle) * 1e9 + 1
    assert (host.busy_ns(None), host.busy_ns({0, 1})) == (None, None)
    if ticks is not None:
        assert ticks[1] == pytest.approx(sum(after[last][:8]), rel=0.05)
        assert before[last].steal <= ticks[0] <= after[last].steal
    if (every := host.cpu_ticks(None)) is not None:
        assert every[1] == pytest.approx(sum(sum(one[:8]) for one in after), rel=0.05)
