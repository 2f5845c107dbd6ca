"""Blocks of a comparison with a real server and real workers: complete rows, or failures of a named side."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import psutil
import pytest

from inflight.bench.core.arm import Arm
from inflight.bench.core.judge import ExperimentError
from inflight.bench.core.rows import SCHEMA_FILE, Row
from inflight.bench.measure import host
from inflight.bench.measure.run import ServerKeeper
from inflight.bench.studies.compare import loop, read, run
from inflight.bench.studies.compare.comparison import MEMORY_SIZES, Comparison, comparison
from inflight.bench.studies.compare.read import Block
from inflight.bench.studies.compare.run import Place, cycles_for, slice_sd
from inflight.bench.studies.throughput.record import Window
from inflight.fake_server.site import SiteConfig
from tests.ab.repositories import HONEST, SLOW, arm, with_mine
from tests.cli.calm import red_by_itself
from tests.made_blocks import TIMED

VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))
CALLBACKS = Arm("A", "callbacks")
FORGETS_THE_LAST = "def crawl(job, frontier):\n    honest(job, frontier)\n    frontier.finished.pop()\n"
FORGETS_ONE = FORGETS_THE_LAST.replace("pop()", "pop(len(frontier.finished) // 2)")
RAISES = "def crawl(job, frontier):\n    raise LookupError('no such\\n thing')\n"
WITH_MEMORY = (*TIMED, "memory")

Run = Callable[..., Block]
Mine = Callable[..., Arm]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    cpus = host.Cpus(None, None)
    with ServerKeeper(cpus) as keeper:
        keeper.server()
        yield Place(keeper, cpus)


@pytest.fixture(autouse=True)
def _nothing_is_left_running(place: Place) -> Iterator[None]:
    server = place.keeper.server().process.pid
    yield
    assert {one.pid for one in psutil.Process().children(recursive=True)} <= {server}


@pytest.fixture
def mine(tmp_path: Path) -> Mine:
    """Return a function that makes an arm of a strategy whose file has the given body."""

    def make(body: str, **options: Any) -> Arm:
        folder = tmp_path / f"fork-{len(list(tmp_path.iterdir()))}"
        return arm("mine", None, with_mine(folder, body), **options)

    return make


def made(a: Arm, b: Arm, **options: Any) -> Comparison:
    site = SiteConfig(**{"links": 10} | options.pop("site", {}))
    return replace(comparison(a, b, site, ("cpu_per_page", "throughput")), **{"cycles": 2} | options)


@pytest.fixture
def block(place: Place, tmp_path: Path) -> Run:
    """Return a function that runs one unpinned block of two sides, and judges its rows."""

    def run_one(a: Arm, b: Arm, number: int = 1, *, memory: bool = False, **options: Any) -> Block:
        options |= {"metrics": WITH_MEMORY} if memory else {}
        planned, prepared = loop.ready(made(a, b, **options), tmp_path / f"place-{len(list(tmp_path.iterdir()))}")
        folder = tmp_path / "kept"
        folder.mkdir(exist_ok=True)
        found = loop.block(folder, planned, number, prepared, place, memory=memory)
        for row in found.rows:
            assert Row.from_json(row.to_json()) == row
            VALIDATOR.validate(json.loads(row.to_json()))
        return found

    return run_one


def assert_good(found: Block) -> None:
    assert [(row.status, row.reason) for row in found.rows] == [("ok", None)] * len(found.rows)
    assert [red_by_itself(row) for row in found.rows] == [set()] * len(found.rows)
    assert found.failed is None


# When all goes well


def test_a_block_has_two_windows_of_each_of_its_three_arms(block: Run) -> None:
    found = block(CALLBACKS, Arm("B", "sequential"))

    assert_good(found)
    assert {role: row.strategy for role, row in found.arms.items()} == {
        "reference": "A", "compared": "B", "placebo": "A again"
    }  # fmt: skip
    assert {role: len(row.measured.windows or ()) for role, row in found.arms.items()} == dict.fromkeys(found.arms, 2)
    assert [row.knobs.strategy for row in found.rows] == ["callbacks", "sequential", "callbacks"]
    assert [row.measured.peak_in_flight for row in found.rows] == [100, 1, 100]
    assert set(read.values(found)) == set(TIMED)


def test_settings_and_variables_reach_their_side(block: Run) -> None:
    a = replace(CALLBACKS, in_flight=7, variables={"INFLIGHT_TEST": "a"})
    b = replace(CALLBACKS, connection="per-fetch", variables={"PYTHONDEVMODE": ""})

    found = block(a, b)

    assert_good(found)
    assert [row.knobs.variables for row in found.rows] == [a.variables, b.variables, a.variables]
    assert [row.measured.peak_in_flight for row in found.rows] == [7, 100, 7]
    assert read.arm(found, "B").connection == "per-fetch"


def test_what_a_strategy_prints_disturbs_nothing(block: Run, mine: Mine) -> None:
    assert_good(block(CALLBACKS, mine("def crawl(job, frontier):\n    print('{}')\n    honest(job, frontier)\n")))


def test_a_slowdown_is_seen_as_a_value_above_zero_and_the_other_way_round_below(block: Run, mine: Mine) -> None:
    honest, slow = mine(HONEST), mine(SLOW)

    assert read.values(block(honest, slow))["cpu_per_page"] > 0.5
    assert read.values(block(slow, honest, 2))["cpu_per_page"] < -0.5


def test_a_planted_slowdown_is_seen_on_its_side(block: Run) -> None:
    found = block(replace(CALLBACKS, planted_loops=0), replace(CALLBACKS, planted_loops=8_000))

    assert_good(found)
    assert read.values(found)["cpu_per_page"] > 0.5
    assert read.arm(found, "B").planted_loops == 8_000


@pytest.mark.slow
def test_memory_is_read_at_two_numbers_in_flight_of_each_side(block: Run) -> None:
    found = block(CALLBACKS, Arm("B", "native_asyncio"), memory=True)

    assert found.failed is None
    sizes = {row.workload.in_flight for own in found.memory.values() for row in own}
    assert sizes == set(MEMORY_SIZES[1])
    if read.why_no_memory([found]) is None:  # other programs on this machine can make one of the four readings red
        assert read.figure([found], "B", "memory") > read.figure([found], "A", "memory") > 0


def test_a_side_that_fails_only_when_its_memory_is_read_has_failed(block: Run, mine: Mine) -> None:
    shy = "def crawl(job, frontier):\n    assert job.max_in_flight < 200, 'too many'\n    honest(job, frontier)\n"

    found = block(CALLBACKS, mine(shy), 2, memory=True)

    assert (found.failed, found.reasons) == ("B", ["B: the strategy raised AssertionError: too many"])
    assert found.arms["compared"].status == "ok"


# When a side goes wrong

ENDINGS = {
    # how: (the body of its file, status, what the reason says)
    "raises": (RAISES, "failed", "the strategy raised LookupError: no such thing"),
    "dies": ("def crawl(job, frontier):\n    os._exit(7)\n", "failed", "the worker exited with 7"),
    "is_killed": (
        "def crawl(job, frontier):\n    os.kill(os.getpid(), signal.SIGKILL)\n",
        "failed",
        "the worker was killed by signal 9 (SIGKILL)",
    ),
    "does_not_import": ("import no_such_module\n", "failed", "the worker exited with 1: ModuleNotFoundError: "),
    "has_no_crawl": (
        "",
        "failed",
        "the strategy raised AttributeError: module 'inflight.strategies.mine' has no attribute 'crawl'",
    ),
    "forgets_one": (FORGETS_ONE, "wrong", "skipped a lap"),
    "forgets_the_last": (FORGETS_THE_LAST, "ok", ""),  # but the server counts one request more
    "writes_rubbish": (
        "def crawl(job, frontier):\n    os.write(3, b'{rubbish\\n')\n",
        "failed",
        "the worker sent an invalid message: b'{rubbish'",
    ),
    "says_what_is_not_due": (
        'def crawl(job, frontier):\n    os.write(3, b\'{"event": "answer"}\\n\')\n',
        "failed",
        "the worker sent 'answer' instead of 'crawled'",
    ),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_a_failing_side_is_named_and_does_not_stop_the_others(block: Run, mine: Mine, how: str) -> None:
    body, status, reason = ENDINGS[how]

    found = block(CALLBACKS, mine(body))

    assert (found.arms["compared"].status, found.failed) == (status, "B")
    assert reason in str(found.arms["compared"].reason or "")
    assert [found.arms[role].status for role in ("reference", "placebo")] == ["ok", "ok"]
    assert read.tally([found]).failed_b == 1


def test_a_wrong_answer_of_a_is_not_blamed_on_b(block: Run, mine: Mine) -> None:
    found = block(mine(FORGETS_ONE), mine(RAISES))

    assert found.failed == "A"
    assert {row.status for row in found.rows} == {"wrong", "failed"}


def test_a_server_that_dies_is_neither_sides_fault(tmp_path: Path) -> None:
    body = "def crawl(job, frontier):\n    os.kill(int(os.environ['SERVER']), signal.SIGKILL)\n    time.sleep(0.2)\n"
    cpus = host.Cpus(None, None)
    with ServerKeeper(cpus) as keeper:
        pid = keeper.server().process.pid
        mine = arm("mine", None, with_mine(tmp_path / "fork", body), variables={"SERVER": str(pid)})
        planned, prepared = loop.ready(made(CALLBACKS, mine), tmp_path / "place")
        found = loop.block(tmp_path, planned, 1, prepared, Place(keeper, cpus))

    assert (found.good, found.failed) == (False, None)
    assert found.reasons[0].startswith("the fake server died during the trial")
    assert read.tally([found]).dropped == 1


# Calibration


@pytest.mark.parametrize(
    ("body", "reason"), [(RAISES, "the strategy raised LookupError"), (FORGETS_THE_LAST, "requests counted alike")]
)
def test_calibration_names_the_side_that_cannot_do_the_work(
    place: Place, tmp_path: Path, mine: Mine, body: str, reason: str
) -> None:
    planned, prepared = loop.ready(made(CALLBACKS, mine(body)), tmp_path / "place")

    with pytest.raises(ExperimentError, match=rf"nothing to compare: B, mine \(.*fork.*\): {reason}"):
        loop.calibrated(planned, prepared, place, None)


def test_calibration_finds_the_cycles_of_a_block_and_what_is_gated(place: Place, tmp_path: Path) -> None:
    planned, prepared = loop.ready(made(CALLBACKS, CALLBACKS), tmp_path / "place")

    asked, _ = loop.calibrated(planned, prepared, place, 3)
    found, calibration = loop.calibrated(planned, prepared, place, None)

    assert asked.cycles == 3
    assert run.FEWEST_CYCLES <= found.cycles <= run.MOST_CYCLES
    assert found.gated == TIMED
    assert calibration.block_s > 0


def test_noisy_slices_need_more_cycles_and_expensive_ones_fewer() -> None:
    assert cycles_for(0.05, 1.2, 0.1) > cycles_for(0.02, 1.2, 0.1)
    assert cycles_for(0.05, 1.2, 0.1) > cycles_for(0.05, 1.2, 0.4)
    assert cycles_for(0.0, 1.2, 0.1) == run.FEWEST_CYCLES
    assert cycles_for(9.0, 1.2, 0.001) == run.MOST_CYCLES
    assert cycles_for(9.0, 1.2, 3.0) == run.FEWEST_CYCLES, "however long a cycle takes"
    assert cycles_for(0.05, 1.2, 0.1) % run.BALANCED == 0


def test_disturbances_of_a_whole_cycle_are_not_noise_of_a_slice() -> None:
    def window(cpu_ns: int, pages: float = 100.0) -> Window:
        return Window(cycle=0, begin_ns=0, wall_ns=1, cpu_ns=cpu_ns, server_cpu_ns=0, pages=pages)

    a, again = ([window(cost * times) for times in (1, 5, 2)] for cost in (1000, 1100))

    assert slice_sd(a, again) == pytest.approx(0, abs=1e-9)
    assert slice_sd([*a, window(0, 0.0)], [*again, again[0]]) == pytest.approx(0, abs=1e-9)
    assert slice_sd([a[0], a[1]], [again[0], a[1]]) > 0


def test_the_copy_runs_and_not_the_original_file(place: Place, tmp_path: Path, mine: Mine) -> None:
    own = mine(HONEST)
    planned, prepared = loop.ready(made(CALLBACKS, own), tmp_path / "place")
    assert own.repository is not None
    (own.repository / "strategies" / "mine.py").write_text("raise SystemExit", encoding="utf-8")

    assert_good(loop.block(tmp_path, planned, 1, prepared, place))
