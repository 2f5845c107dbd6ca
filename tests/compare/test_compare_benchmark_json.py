"""Files of pytest-benchmark as sides of a comparison: real ones, minimal ones, and broken ones."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.studies.stored.benchmark_json import BenchmarkError, of_json, parse
from inflight.bench.studies.stored.read import Comparison, compare_sides
from inflight.bench.studies.stored.side import CPU, MEMORY, THROUGHPUT, WALL, Entry, Key, Sample
from tests.cli.command import call

MACHINE: dict[str, Any] = {
    "system": "Linux",
    "machine": "x86_64",
    "processor": "",
    "release": "6.1",
    "python_version": "3.11.7",
    "cpu": {"brand_raw": "Imaginary 9000", "count": 4},
}
PROJECT = """
def work(number):
    return sum(range(number))

def test_small(benchmark):
    benchmark.pedantic(work, args=(20_000,), rounds=12, warmup_rounds=1)

def test_crawl(benchmark):
    benchmark.extra_info["cpu_per_page_ns"] = [50_000, 51_000, 50_500]
    benchmark.extra_info["invalid"] = []
    benchmark.pedantic(work, args=(20_000,), rounds=3)

def test_invalid(benchmark):
    benchmark.extra_info["invalid"] = ["server had room"]
    benchmark.pedantic(work, args=(20_000,), rounds=3)

def test_once(benchmark):
    benchmark.pedantic(work, args=(20_000,), rounds=1)
"""


def file(*benchmarks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "machine_info": MACHINE,
        "commit_info": {"id": "abc"},
        "benchmarks": list(benchmarks),
        "version": "5",
    } | more


def timed(name: str, values: list[float], factor: float = 1.0, **extra: Any) -> dict[str, Any]:
    """Make a benchmark with its rounds, in seconds."""
    data = [factor * value for value in values]
    return {"fullname": name, "stats": {"data": data, "rounds": len(data)}, "extra_info": extra}


def told(name: str, mean: Any, stddev: Any = 0.0, rounds: Any = 1) -> dict[str, Any]:
    """Make a benchmark as it is saved without its rounds."""
    return {"fullname": name, "stats": {"mean": mean, "stddev": stddev, "rounds": rounds}}


def entry(values: dict[str, Any], metric: str = WALL, name: str = "a") -> Entry:
    return of_json("file", values).entries[Key(name, "", metric)]


def compared(base: dict[str, Any], head: dict[str, Any]) -> Comparison:
    return compare_sides(of_json("base", base), of_json("head", head))


# Real files


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project's folder with what pytest-benchmark wrote: one file with the rounds, one saved without."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "test_work.py").write_text(PROJECT, encoding="utf-8")
    for options in (["--benchmark-json=with.json"], ["--benchmark-storage=saved", "--benchmark-save=without"]):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "test_work.py"],
            cwd=folder, capture_output=True, text=True, check=False,
            env={key: value for key, value in os.environ.items() if not key.startswith("PYTEST")},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_file_of_pytest_benchmark_is_read(real: Path) -> None:
    side = of_json("with", parse((real / "with.json").read_text(encoding="utf-8")))

    small = side.entries[Key("test_work.py::test_small", "", WALL)].figure
    assert isinstance(small, Sample)
    assert small.number == 12
    assert 1e-6 < math.exp(small.log_mean) < 1
    assert isinstance(side.entries[Key("test_work.py::test_crawl", "", CPU)].figure, Sample)
    assert (
        side.entries[Key("test_work.py::test_invalid", "", WALL)].figure == "no valid trial (failed: server had room)"
    )
    assert (side.trials, side.invalid) == (4, 1)
    assert side.hardware["system"]
    assert side.hardware["cores"]


def test_a_saved_run_without_its_rounds_gives_nearly_the_same_sample(real: Path) -> None:
    (path,) = (real / "saved").rglob("*without*.json")
    values = parse(path.read_text(encoding="utf-8"))
    assert not any("data" in benchmark["stats"] for benchmark in values["benchmarks"])

    figure = of_json("without", values).entries[Key("test_work.py::test_small", "", WALL)].figure

    assert isinstance(figure, Sample)
    assert figure.number == 12
    assert figure.variance is not None
    assert figure.variance > 0


def test_the_command_compares_a_real_file_with_one_saved_without_its_rounds(real: Path, tmp_path: Path) -> None:
    (saved,) = (real / "saved").rglob("*without*.json")
    slower = parse(saved.read_text(encoding="utf-8"))
    small = next(one["stats"] for one in slower["benchmarks"] if one["name"] == "test_small")
    small |= {name: 50 * small[name] for name in ("mean", "stddev")}  # whatever the machine did meanwhile
    head = tmp_path / "head.json"
    head.write_text(json.dumps(slower), encoding="utf-8")

    done = call("compare", real / "with.json", head, "--json")

    found = json.loads(done.out)
    assert done.code == 1
    assert {one["strategy"] for one in found["cells"] if one["verdict"] == "regression"} >= {"test_work.py::test_small"}
    assert {one["strategy"] for one in found["cells"]} == {
        f"test_work.py::test_{name}" for name in ("small", "crawl", "invalid", "once")
    }
    assert found["base"]["invalid"] == 1


def test_the_command_finds_what_became_slower_in_a_real_file(real: Path, tmp_path: Path) -> None:
    values = json.loads((real / "with.json").read_text(encoding="utf-8"))
    small = next(one for one in values["benchmarks"] if one["name"] == "test_small")
    base, head = tmp_path / "base.json", tmp_path / "head.json"
    for file, factor in ((base, 1), (head, 50)):  # of made times, because real ones may vary by more than 50x
        small["stats"]["data"] = [factor * (1 + 0.01 * number) / 1000 for number in range(12)]
        file.write_text(json.dumps(values), encoding="utf-8")

    done = call("compare", base, head)

    assert done.code == 1
    assert done.out.startswith("Regression: time of an iteration of test_work.py::test_small is worse by 50x")


# What is in them


def test_rounds_are_compared_by_their_logarithms() -> None:
    figure = entry(file(timed("a", [1.0, math.e, math.e**2]))).figure

    assert isinstance(figure, Sample)
    assert figure.log_mean == pytest.approx(1.0)
    assert figure.variance == pytest.approx(1.0)
    assert figure.number == 3


def test_mean_and_deviation_replace_rounds_that_were_not_saved() -> None:
    figure = entry(file(told("a", mean=2.0, stddev=0.2, rounds=50))).figure

    assert isinstance(figure, Sample)
    assert figure.number == 50
    assert figure.variance == pytest.approx(0.01, rel=0.01)
    assert figure.log_mean == pytest.approx(math.log(2.0) - 0.005, rel=1e-3)


def test_a_slower_benchmark_is_a_regression_and_the_same_one_passes() -> None:
    values = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98]
    base = file(timed("a", values), timed("b", values))

    found = compared(base, file(timed("a", values, 1.3), timed("b", values, 1.001)))

    assert {one.key.subject: one.verdict for one in found.compared} == {"a": "regression", "b": "pass"}
    assert found.verdict == "regression"


def test_figures_in_extra_info_are_compared_too() -> None:
    values = [1.0, 1.01, 0.99]
    extra: dict[str, Any] = {CPU: [50_000, 51_000, 50_500], THROUGHPUT: [900.0, 910.0, 905.0], MEMORY: 9000}
    found = compared(file(timed("a", values, **extra)), file(timed("a", values, 1.001, **extra)))

    gated = {one.key.metric: one.gated for one in found.compared}

    assert gated == {WALL: True, CPU: True, THROUGHPUT: False, MEMORY: False}
    assert found.verdict == "pass"


def test_a_copy_of_a_file_cannot_pass() -> None:
    values = file(timed("a", [1.0, 1.01, 0.99]))

    assert compared(values, values).verdict == "inconclusive"


def test_an_invalid_benchmark_is_excluded_from_the_verdict() -> None:
    values = [1.0, 1.01, 0.99]
    found = compared(file(timed("a", values)), file(timed("a", values, 9.0, invalid=["server had room"])))

    assert found.verdict == "inconclusive"
    assert found.compared[0].why == "HEAD: no valid trial (failed: server had room)"


def test_single_rounds_decide_nothing() -> None:
    found = compared(file(told("a", 1.0)), file(told("a", 9.0)))

    assert found.verdict == "inconclusive"
    assert found.compared[0].why == "no cell was repeated, so the noise is unknown"


def test_benchmarks_with_other_parameters_are_not_compared() -> None:
    one, other = (timed("a", [1.0, 1.1]) | {"params": {"n": n}} for n in (1, 2))

    assert [lonely.side for lonely in compared(file(one), file(other)).one_sided] == ["different"]


@pytest.mark.parametrize(
    "stats",
    [
        {},
        {"mean": None},
        {"mean": math.nan, "stddev": 0.1, "rounds": 5},
        {"mean": math.inf, "stddev": 0.1, "rounds": 5},
        {"mean": 0, "stddev": 0, "rounds": 5},
        {"mean": 1.0, "stddev": math.nan, "rounds": 5},
        {"mean": 1.0, "stddev": "much", "rounds": 5},
        {"mean": 1.0, "stddev": 0.1, "rounds": 0},
        {"mean": 1.0, "stddev": 0.1, "rounds": "five"},
        {"mean": 1.0, "stddev": 0.1, "rounds": True},
        {"data": [1.0, math.nan]},
        {"data": [1.0, "slow"]},
        {"data": [0.0, 0.0]},
        "fast",
    ],
)
def test_an_invalid_measurement_is_reported_and_decides_nothing(stats: Any) -> None:
    bad = {"fullname": "a", "stats": stats}

    assert isinstance(entry(file(bad)).figure, str)
    assert compared(file(timed("a", [1.0, 1.1])), file(bad)).verdict == "inconclusive"


def test_a_deviation_far_beyond_the_mean_is_bounded() -> None:
    figure = entry(file(told("a", mean=1e-250, stddev=1e250, rounds=5))).figure

    assert isinstance(figure, Sample)
    assert figure.variance is not None
    assert math.isfinite(figure.variance)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"benchmarks": 3}', "{", "[" * 100_000])
def test_another_kind_of_file_is_refused(text: str) -> None:
    with pytest.raises(BenchmarkError):
        parse(text)


@pytest.mark.parametrize(
    ("benchmarks", "sentence"),
    [([{}], "no fullname"), ([3], "no fullname"), ([told("a", 1), told("a", 2)], "two benchmarks named a")],
)
def test_a_missing_or_duplicate_name_of_a_benchmark_is_refused(benchmarks: list[Any], sentence: str) -> None:
    with pytest.raises(BenchmarkError, match=sentence):
        of_json("file", file() | {"benchmarks": benchmarks})


def test_machines_differ_by_cpu_and_system() -> None:
    head = file(timed("a", [1.0, 1.1]), machine_info=MACHINE | {"cpu": {"brand_raw": "Other", "count": 4}})

    found = compared(file(timed("a", [1.0, 1.1])), head)

    assert [(one.name, one.base, one.head) for one in found.unlike] == [("cpu", "Imaginary 9000", "Other")]
    assert found.verdict == "inconclusive"


def test_another_python_and_another_commit_are_listed() -> None:
    values = [1.0, 1.01, 0.99]
    head = file(
        timed("a", values),
        machine_info=MACHINE | {"python_version": "3.13.1"},
        commit_info={"id": "def", "dirty": True},
    )

    found = compared(file(timed("a", values)), head)

    assert not found.unlike
    assert {one.name for one in found.software} == {"python_version", "commit id", "commit dirty"}
