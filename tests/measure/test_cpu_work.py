"""CPU work: its calibration, once for a whole run, and older jobs without it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from inflight.bench.measure import host, process
from inflight.bench.measure import run as runs
from inflight.bench.plan.experiment import Experiment
from inflight.bench.plan.grid import CrawlTable
from inflight.bench.plan.trial import Trial
from inflight.bench.rows import files as rows
from inflight.strategies.base import Job
from inflight.strategies.core import work
from tests.made_rows import crawl_row, edited

CPUS = host.Cpus(None, None)


def trials(*cpu: str) -> list[Trial]:
    grid = CrawlTable(in_flight=(1,), pages=10, cpu=cpu)
    return runs.all_trials(Experiment(name="x", strategies=("sequential",), crawl=(grid,)))


def folder_of(tmp_path: Path, **measured: int) -> Path:
    """Make a folder with a row of 2 ms of CPU work, if it measured any."""
    (tmp_path / rows.ROWS_FILE).touch()
    if measured:
        row = edited(crawl_row(), workload={"cpu": "2ms", "cpu_ns": 2_000_000}, measured=measured)
        rows.append(tmp_path, row)
    return tmp_path


@pytest.mark.parametrize("units", [0, 7])
def test_a_job_survives_json_and_without_work_has_the_format_of_older_strategies(units: int) -> None:
    job = Job(("http://h/",), work_units=units)

    assert ("work_units" in job.to_dict()) is bool(units)
    assert Job.from_dict(job.to_dict()) == job


def test_the_cost_of_work_is_the_median_of_several_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    units_ns = iter([10, 10, 50, 50, 30, 30])
    now_ns = 0

    def unit(_: object) -> None:
        nonlocal now_ns
        now_ns += next(units_ns)

    monkeypatch.setattr(work, "unit", unit)
    monkeypatch.setattr(work, "time", SimpleNamespace(thread_time_ns=lambda: now_ns))

    assert work.cost_ns(2, times=3) == 60


def test_work_makes_a_crawl_shorter_where_it_bounds_it() -> None:
    grid = CrawlTable(latency=("10ms",), in_flight=(10,), seconds=1.0, cpu=("0", "5ms"), pages=5000)

    assert [workload.site.pages for workload in grid.workloads("crawl")] == [1000, 200]


def test_a_unit_is_measured_by_a_separate_program(tmp_path: Path) -> None:
    found = runs._unit_ns(folder_of(tmp_path), trials("1ms"), CPUS)

    assert found is not None
    assert found > 0


def test_without_work_no_unit_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(process, "output")

    assert runs._unit_ns(folder_of(tmp_path), trials("0"), CPUS) is None


def test_a_resumed_run_keeps_its_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(process, "output")

    assert runs._unit_ns(folder_of(tmp_path, work_units=100), trials("1ms"), CPUS) == 20_000


def test_a_failed_calibration_is_reported_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "output", lambda *_: (1, b""))

    with pytest.raises(runs.RunError, match="cannot calibrate the CPU work"):
        runs._unit_ns(folder_of(tmp_path), trials("1ms"), CPUS)
