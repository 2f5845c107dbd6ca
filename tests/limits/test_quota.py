"""CPU quotas of control groups: read from made files, and counted in a real group."""

from itertools import count
from pathlib import Path

import pytest

from inflight.bench.measure import host
from inflight.bench.rows import files as rows
from inflight.bench.rows.parts import Quota
from tests.cli.command import call
from tests.limits.made_machine import write

V2 = {
    "proc/self/cgroup": "0::/pod/job\n",
    "proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n",
    "sys/fs/cgroup/pod/job/cpu.stat": "usage_usec 900\nnr_periods 300\nnr_throttled 286\nthrottled_usec 5400\n",
}
V1 = {
    "proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n1:name=systemd:/elsewhere\n",
    "proc/self/mountinfo": "35 31 0:32 /docker /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
    "cg/cpu/abc/cpu.cfs_period_us": "50000\n",
    "cg/cpu/abc/cpu.stat": "nr_periods 7\nnr_throttled 2\nthrottled_time 12345678\n",
    "cg/cpu/cpu.cfs_quota_us": "-1\n",
    "cg/cpu/cpu.cfs_period_us": "100000\n",
}
JOB = "sys/fs/cgroup/pod/job/cpu.max"


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({}, None),
        (V2, None),
        (V2 | {JOB: "max 100000\n"}, None),
        (V2 | {JOB: "100000 100000\n"}, Quota(1.0, 300, 286, 5_400_000)),
        (V2 | {JOB: "25000 10000\n"}, Quota(2.5, 300, 286, 5_400_000)),
        # the quota of an ancestor binds, too, and its counts count
        (V2 | {"sys/fs/cgroup/pod/cpu.max": "50000 100000\n"}, Quota(0.5, 0, 0, 0)),
        (
            V2
            | {JOB: "400000 100000\n", "sys/fs/cgroup/pod/cpu.max": "150000 100000\n"}
            | {"sys/fs/cgroup/pod/cpu.stat": "nr_periods 10\nnr_throttled 4\nthrottled_usec 2\n"},
            Quota(1.5, 310, 290, 5_402_000),
        ),
        (V1, None),
        (V1 | {"cg/cpu/abc/cpu.cfs_quota_us": "-1\n"}, None),
        (V1 | {"cg/cpu/abc/cpu.cfs_quota_us": "75000\n"}, Quota(1.5, 7, 2, 12_345_678)),
    ],
)
def test_the_quota_is_that_of_the_tightest_group(tmp_path: Path, files: dict[str, str], limit: Quota | None) -> None:
    write(tmp_path, files)

    assert host.read_quota(tmp_path) == limit


def test_a_trial_has_what_its_quota_counted_meanwhile() -> None:
    before, after = Quota(1.0, 300, 286, 5_000), Quota(1.0, 310, 290, 5_900)

    assert host.quota_between(before, after) == Quota(1.0, 10, 4, 900)
    assert host.quota_between(None, after) is host.quota_between(before, None) is None


def test_a_run_names_the_quota_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "read_quota", lambda: Quota(1.5, 0, 0, 0))

    assert call("run", "quick", "--dry-run").err.startswith("CPU quota of 1.5 cores: ")


def test_the_rows_of_a_run_have_the_quota(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counts = count(1)
    monkeypatch.setattr(host, "read_quota", lambda: Quota(0.5, 10 * next(counts), 7, 0))
    tiny = tmp_path / "tiny.toml"
    tiny.write_text('strategies = ["callbacks"]\n[[crawl]]\nlatency = ["0"]\nin_flight = [1]\npages = 10\n', "utf-8")

    assert call("run", str(tiny), "--out", str(tmp_path)).code == 0

    (folder,) = rows.folders_in(tmp_path)
    assert rows.machine(folder)["cpu_quota_cores"] == 0.5
    assert [row.measured.quota for row in rows.read(folder)] == [Quota(0.5, 10, 0, 0)]
