"""Real crawls of the core strategies on each interpreter that is found, with and without the global lock."""

import shutil
import subprocess
from pathlib import Path

import pytest

from inflight.bench.commands.run import experiment_of
from inflight.bench.measure import run as runs
from inflight.bench.measure.interpreters import Interpreter
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.strategies import registry
from tests.measure import given_interpreters
from tests.measure.made_engine import assert_certain

pytestmark = pytest.mark.night
CORE = ("sequential", "thread_pool", "callbacks", "generators", "native_asyncio")
TEXT = """
strategies = ["sequential", "thread_pool", "callbacks", "generators", "native_asyncio"]
[site]
pages = 20
[[crawl]]
strategies = ["sequential"]
in_flight = [1]
[[throughput]]
in_flight = [5]
cycles = 1
[[memory]]
in_flight = [5]
"""
EXTENSION = """
/* An extension that does not declare that it works without the lock. It needs no headers of Python: this is a
   PyModuleDef of a free-threaded build, whose object header has 32 bytes (CPython 3.14, Include/object.h). */
static struct {
    char header[32];
    void *init; long index; void *copy; const char *name, *doc; long size; void *methods, *slots, *rest[3];
} module = {.name = "locking"};
void *PyModuleDef_Init(void *);
void *PyInit_locking(void) { return PyModuleDef_Init(&module); }
"""
STRATEGY = """
from inflight.strategies import sequential

STACK = "shared"
REQUIRES = ()
MOST_IN_FLIGHT = 1


def crawl(job, frontier):
    import locking

    sequential.crawl(job, frontier)
"""
LOCKED_TEXT = """
strategies = ["{folder}/locked.py"]
[site]
pages = 20
[[crawl]]
in_flight = [1]
[[throughput]]
in_flight = [1]
cycles = 1
"""


@pytest.fixture(params=given_interpreters.VERSIONS)
def python(request: pytest.FixtureRequest, tmp_path: Path) -> Interpreter:
    return found(request.param, tmp_path)


def found(version: str, folder: Path) -> Interpreter:
    try:
        return given_interpreters.given(version, folder / "unpacked")
    except ExperimentError as error:
        pytest.skip(str(error))


def run(folder: Path, text: str, python: Interpreter) -> tuple[list[Row], dict[str, object]]:
    """Return the rows of an experiment, and what its machine.json says of the interpreter."""
    (folder / "mine.toml").write_text(text, "utf-8")
    experiment = experiment_of(str(folder / "mine.toml"), pythons=[python.executable])
    results = runs.new_folder(folder, experiment)
    runs.execute(results, experiment, runs.plan(experiment), lambda *_: None)
    return rows.read(results), rows.machine(results)["interpreters"][python.label]


def test_the_core_strategies_crawl_and_their_rows_say_on_what(python: Interpreter, tmp_path: Path) -> None:
    found, machine = run(tmp_path, TEXT, python)

    assert {row.workload.arm.strategy for row in found if row.kind != "arm"} == set(CORE)
    assert {(row.kind, row.status) for row in found} == {("crawl", "ok"), ("memory", "ok"), ("arm", "ok")}
    for row in found:
        assert_certain(row)
    assert {
        (row.knobs.python, row.knobs.free_threaded, row.knobs.gil) for row in found
    } == {(python.version, python.free_threaded, not python.free_threaded)}  # fmt: skip
    assert machine["eager_tasks"] is (python.numbers >= (3, 12))
    assert machine["allocator"] == ("mimalloc" if python.free_threaded else "pymalloc")


@pytest.mark.skipif(shutil.which("cc") is None, reason="an extension needs a C compiler")
def test_a_lock_that_an_extension_turns_on_in_the_crawl_fails_a_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(registry.VARIABLE, "")  # the strategy is registered for this test alone
    python = found("3.14t", tmp_path)
    (tmp_path / "locking.c").write_text(EXTENSION, "utf-8")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", "locking.so", "locking.c"],
        cwd=tmp_path,
        check=True,
    )
    (tmp_path / "locked.py").write_text(STRATEGY, "utf-8")

    crawled, _ = run(tmp_path, LOCKED_TEXT.format(folder=tmp_path), python)

    assert {row.kind for row in crawled} == {"crawl", "arm"}
    for row in crawled:
        assert row.status == "ok", row.reason
        assert row.knobs.gil is True
        assert {check.name: check.detail for check in row.failed_checks}["settings applied"] == (
            "gil: wanted False, got True"
        )
