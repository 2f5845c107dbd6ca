"""Blocks of comparisons with a real server and real workers: complete rows, or failures of a named side."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import psutil
import pytest
from msgspec import structs

from inflight.bench.ab import decide as deciding
from inflight.bench.frame import blocks as read
from inflight.bench.measure import host, server
from inflight.bench.measure import run as runs
from inflight.bench.measure.blocks import block, comparing
from inflight.bench.measure.blocks.comparing import Place, cycles_for, slice_sd
from inflight.bench.measure.blocks.sides import prepare
from inflight.bench.measure.run import ServerKeeper
from inflight.bench.measure.trial import Setting
from inflight.bench.plan.comparison import LIGHT, MEMORY_SIZES, Comparison, comparison
from inflight.bench.rows import records
from inflight.bench.rows.files import SCHEMA_FILE, Row
from inflight.bench.rows.kinds import Arm, Window
from inflight.fake_server.site import SiteConfig
from tests.ab.repositories import arm, commit, copy_strategies, git, name_as_once, with_mine
from tests.made_blocks import TIMED
from tests.patience import FOREVER_S

VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text("utf-8")))
CALLBACKS = Arm("A", "callbacks", "compared")
Mine = Callable[..., Arm]


@pytest.fixture(autouse=True, scope="module")
def _no_deadlines() -> Iterator[None]:
    """Let no stall of this machine make a trial fail."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "START_SECONDS", FOREVER_S)
        patch.setattr(block, "DRAIN_S", FOREVER_S)
        patch.setattr(
            Place,
            "setting",
            lambda place, name: Setting(name, place.cpus, lambda _trial: FOREVER_S),
        )
        yield


@pytest.fixture(scope="module")
def place(_no_deadlines: None) -> Iterator[Place]:
    cpus = host.Cpus(None, None)
    with ServerKeeper(cpus) as keeper:
        keeper.server()
        yield Place(keeper, cpus)


@pytest.fixture(autouse=True)
def _nothing_is_left_running(place: Place) -> Iterator[None]:
    before = {one.pid for one in psutil.Process().children(recursive=True)}
    yield
    kept = place.keeper.server().process.pid
    assert {one.pid for one in psutil.Process().children(recursive=True)} <= {kept, *before}


@pytest.fixture
def mine(tmp_path: Path) -> Mine:
    """Return a function that makes an arm of a strategy whose file has the given body."""

    def make(body: str, **options: Any) -> Arm:
        folder = tmp_path / f"fork-{len(list(tmp_path.iterdir()))}"
        return arm("mine", None, with_mine(folder, body), **options)

    return make


def made(a: Arm, b: Arm, **options: Any) -> Comparison:
    return replace(comparison(a, b, SiteConfig(links=10), TIMED), **{"cycles": 2} | options)  # type: ignore[arg-type]


def rows_of(place: Place, folder: Path, **arms: Arm) -> dict[str, Row]:
    """Run one unpinned block of these arms; return their rows by name."""
    named = [structs.replace(one, name=name, role="compared") for name, one in arms.items()]
    prepared = {one.name: prepare(one, folder / "sides" / one.name) for one in named}
    trial = replace(
        made(CALLBACKS, CALLBACKS).block(1),
        models={name: arm.described for name, arm in prepared.items()},
        arms=(structs.replace(named[0], role="reference"), *named[1:]),
    )
    runtimes = {name: arm.runtime for name, arm in prepared.items()}
    found = runs.measured(trial, place.keeper, place.setting("made"), runtimes)
    assert [row.arm for row in found] == list(arms)
    return {row.arm: row for row in found}


def test_settings_variables_and_revisions_reach_their_arm(place: Place, mine: Mine, tmp_path: Path) -> None:
    repository = name_as_once(copy_strategies(tmp_path / "repository"))
    git(repository, "init", "--quiet")
    commit(repository, "with the name that the package had once")
    prints = mine("def crawl(job, frontier):\n    print('{}')\n    honest(job, frontier)\n", connection="per-fetch")

    found = rows_of(
        place,
        tmp_path,
        few=Arm("x", "callbacks", "compared", in_flight=7, variables={"INFLIGHT_TEST": "a"}),
        prints=prints,
        one=Arm("x", "sequential", "compared", variables={"PYTHONDEVMODE": ""}),
        once=arm("generators", "HEAD", repository),
        planted=Arm("x", "callbacks", "compared", planted_loops=50),
    )

    assert {name: (row.status, row.reason) for name, row in found.items()} == dict.fromkeys(found, ("ok", None))
    assert {len(row.measured.windows) for row in found.values()} <= {1, 2}, "one with few samples is dropped"
    names = ["callbacks", "mine", "sequential", "generators", "callbacks"]
    assert [row.knobs.strategy for row in found.values()] == names
    assert [row.measured.held_in_flight for row in found.values()] == [7, 100, 1, 100, 100]
    assert (found["few"].knobs.variables, found["one"].knobs.variables) == (
        {"INFLIGHT_TEST": "a"}, {"PYTHONDEVMODE": ""}
    )  # fmt: skip
    assert found["prints"].workload.connection == "per-fetch"
    assert found["planted"].workload.arm.planted_loops == 50
    for row in found.values():
        assert records.read(row.to_json()) == row
        VALIDATOR.validate(json.loads(row.to_json()))


def test_a_side_that_fails_only_when_its_memory_is_read_has_failed(place: Place, mine: Mine, tmp_path: Path) -> None:
    shy = "def crawl(job, frontier):\n    assert job.max_in_flight < 200, 'too many'\n    honest(job, frontier)\n"
    b = mine(shy)
    planned, prepared = comparing.ready(made(CALLBACKS, b, metrics=(*TIMED, "memory")), tmp_path / "sides")
    assert b.repository is not None
    (Path(b.repository) / "strategies" / "mine.py").write_text("raise SystemExit", "utf-8")  # the copy runs

    (found,) = read.blocks(comparing.measure(tmp_path, planned, 1, prepared, place, memory=True))

    assert [(row.arm, row.status) for row in found.arms.values()] == [("A", "ok"), ("B", "ok"), ("A again", "ok")]
    few, many = MEMORY_SIZES[1]
    assert [row.workload.in_flight for row in found.memory["A"]] == [few, LIGHT * many]
    assert {row.status for row in found.memory["A"]} == {"ok"}
    assert (found.memory["B"][0].status, found.memory["B"][0].reason) == (
        "failed", "the strategy raised AssertionError: too many"
    )  # fmt: skip
    assert found.durations_ns[1] == sum(row.duration_ns for own in found.memory.values() for row in own) > 0
    assert len((tmp_path / "rows.jsonl").read_text("utf-8").splitlines()) == len(found.rows) == 7


def test_a_server_that_dies_is_neither_sides_fault(mine: Mine, tmp_path: Path) -> None:
    body = (
        "def crawl(job, frontier):\n    os.kill(int(os.environ['SERVER']), signal.SIGKILL)\n    honest(job, frontier)\n"
    )
    cpus = host.Cpus(None, None)
    with ServerKeeper(cpus) as keeper:
        kills = mine(body, variables={"SERVER": str(keeper.server().process.pid)})
        planned, prepared = comparing.ready(made(CALLBACKS, kills), tmp_path / "place")
        (found,) = read.blocks(comparing.measure(tmp_path, planned, 1, prepared, Place(keeper, cpus)))

    assert (found.good, found.failed) == (False, None)
    assert found.reasons[0].startswith("the fake server died during the trial")
    assert deciding.tally([found]).dropped == 1


# The size of a block


def test_noisy_slices_need_more_cycles_and_expensive_ones_fewer() -> None:
    assert cycles_for(0.05, 1.2, 0.1) > cycles_for(0.02, 1.2, 0.1)
    assert cycles_for(0.05, 1.2, 0.1) > cycles_for(0.05, 1.2, 0.4)
    assert cycles_for(0.0, 1.2, 0.1) == comparing.MIN_CYCLES
    assert cycles_for(9.0, 1.2, 0.001) == comparing.MAX_CYCLES
    assert cycles_for(9.0, 1.2, 3.0) == comparing.MIN_CYCLES, "however long a cycle takes"
    assert cycles_for(0.03, 1.6, 0.1) == 6 * 1, "0.03 / 0.015 * sqrt(16) = 8, in multiples of 6"
    assert cycles_for(0.0375, 1.6, 0.1) == 6 * 2, "10 is nearer to 12"
    assert cycles_for(0.015, 1.6, 0.1) == 4


def test_disturbances_of_a_whole_cycle_are_not_noise_of_a_slice() -> None:
    def window(cycle: int, cpu_ns: int, pages: float = 100.0) -> Window:
        return Window(cycle=cycle, begin_ns=0, wall_ns=1, cpu_ns=cpu_ns, pages=pages)

    a, again = ([window(cycle, cost * times) for cycle, times in enumerate((1, 5, 2))] for cost in (1000, 1100))

    assert slice_sd(a, again) == pytest.approx(0, abs=1e-9)
    assert slice_sd([*a, window(3, 0, 0.0)], [*again[1:], window(3, 1100)]) == pytest.approx(0, abs=1e-9), (
        "some dropped"
    )
    assert slice_sd([a[0], a[1]], [again[0], a[1]]) > 0
