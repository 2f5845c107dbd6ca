"""Pairs with a real server and real workers: a whole row when all goes well, and one that names the side when not."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import psutil
import pytest
from bench.comparison import Comparison, Metric, PairTrial, Side
from bench.measure.pair import Sides, calibrate, run_pair

from bench.analyse import pairs
from bench.measure import host, pair, server
from bench.measure.controller import Setting
from bench.measure.process import WorkerError
from bench.measure.server import Server
from bench.measure.sides import prepare
from bench.rows import SCHEMA_FILE, Row
from fake_server.site import SiteConfig
from tests.ab.repositories import FAILS_THE_THIRD_TIME, HONEST, SLOW, with_mine
from tests.cli.calm import red_by_itself
from tests.patience import HANG_S

VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))
SETTING = Setting("run", host.Cpus(None, None), lambda _: HANG_S)
TIMED: tuple[Metric, ...] = ("cpu_per_page", "throughput")
FORGETS_ONE = "def crawl(job, frontier):\n    honest(job, frontier)\n    frontier.finished.pop()\n"
RAISES = "def crawl(job, frontier):\n    raise LookupError('no such\\n thing')\n"

Run = Callable[..., Row]


@pytest.fixture(scope="module")
def fake() -> Iterator[Server]:
    with server.running(None) as started:
        yield started


@pytest.fixture(autouse=True)
def _nothing_is_left_running(fake: Server) -> Iterator[None]:
    before = {one.pid for one in psutil.Process().children(recursive=True)}
    yield
    assert fake.process.pid in before
    assert {one.pid for one in psutil.Process().children(recursive=True)} == before


@pytest.fixture
def mine(tmp_path: Path) -> Callable[[str], Side]:
    """Return a function that makes a side of a strategy whose file has the given body."""
    return lambda body: Side("mine", repository=with_mine(tmp_path / f"fork-{len(list(tmp_path.iterdir()))}", body))


@pytest.fixture
def run(fake: Server, tmp_path: Path) -> Run:
    """Return a function that runs one unpinned pair of two sides."""

    def run_one(a: Side, b: Side, number: int = 1, memory: bool = False, **options: Any) -> Row:
        site = SiteConfig(**{"pages": 300} | options)
        comparison = Comparison(a, b, site, (*TIMED, "memory") if memory else TIMED)
        return run_pair(PairTrial(comparison, number, memory), ready(comparison, tmp_path), fake, SETTING)

    return run_one


def ready(comparison: Comparison, folder: Path) -> Sides:
    place = folder / f"place-{len(list(folder.iterdir()))}"
    return {"A": prepare(comparison.a, place / "A"), "B": prepare(comparison.b, place / "B")}


def assert_whole(row: Row) -> None:
    """Assert that a row survives JSON, and is what the schema says."""
    assert Row.from_json(row.to_json()) == row
    VALIDATOR.validate(json.loads(row.to_json()))


def assert_good(row: Row) -> None:
    assert (row.status, row.reason) == ("ok", None)
    assert red_by_itself(row) == set()
    assert "failed_side" not in row.measured
    assert_whole(row)


# When all goes well


@pytest.mark.parametrize(("number", "order"), [(1, "ABABBABAAB"), (2, "BABAABABBA")])
def test_a_pair_is_a_warm_up_each_and_eight_turns_with_their_controls(run: Run, number: int, order: str) -> None:
    row = run(Side("callbacks"), Side("sequential"), number)

    assert_good(row)
    turns, controls = row.measured["turns"], row.measured["controls"]
    assert "".join(turn["side"] for turn in turns) == order
    assert [turn["warm_up"] for turn in turns] == [True] * 2 + [False] * 8
    assert {turn["pages"] for turn in turns} == {turn["tries"] for turn in turns} == {300}
    assert {(turn["side"], turn["peak_in_flight"]) for turn in turns} == {("A", 100), ("B", 1)}
    assert all(turn["cpu_ns"] > 0 and turn["makespan_ns"] > 0 for turn in turns)
    assert "".join(one["side"] for one in controls) == order[2:]
    assert all(one["spin_ns"] > 0 and one["null_ns"] > 0 for one in controls)
    assert {side: row.knobs[side]["strategy"] for side in "AB"} == {"A": "callbacks", "B": "sequential"}
    assert (row.kind, row.stack, row.strategy) == ("pair", "none", "callbacks : sequential")
    assert set(pairs.values(row)) == set(TIMED)
    assert row.workload["site"]["pages"] == 300


def test_settings_and_variables_reach_the_side_that_they_are_for(run: Run) -> None:
    a = Side("callbacks", in_flight=7, variables={"INFLIGHT_TEST": "a"})
    b = Side("callbacks", connection="per-fetch", variables={"PYTHONDEVMODE": ""})

    row = run(a, b)

    assert_good(row)
    assert row.knobs["A"]["variables"] == {"INFLIGHT_TEST": "a"}
    assert row.knobs["B"]["variables"] == {"PYTHONDEVMODE": ""}
    assert {turn["peak_in_flight"] for turn in row.measured["turns"] if turn["side"] == "A"} == {7}
    assert (row.workload["a"]["in_flight"], row.workload["b"]["connection"]) == (7, "per-fetch")


def test_latency_redirects_and_missing_pages_are_crawled_like_any_others(run: Run) -> None:
    row = run(Side("callbacks"), Side("generators"), delay="1ms", redirects=0.1, missing=0.1)

    assert_good(row)
    assert row.workload["mean_latency_ns"] == 1_000_000


def test_what_a_strategy_prints_disturbs_nothing(run: Run, mine: Callable[[str], Side]) -> None:
    assert_good(run(Side("callbacks"), mine("def crawl(job, frontier):\n    print('{}')\n    honest(job, frontier)\n")))


def test_a_slowdown_is_seen_as_a_value_above_zero_and_the_other_way_round_below(
    run: Run, mine: Callable[[str], Side]
) -> None:
    honest, slow = mine(HONEST), mine(SLOW)

    assert pairs.values(run(honest, slow))["cpu_per_page"] > 0.5
    assert pairs.values(run(slow, honest, 2))["cpu_per_page"] < -0.5


def test_a_planted_slowdown_is_seen_on_its_side(run: Run) -> None:
    row = run(replace(Side("callbacks"), planted_loops=0), replace(Side("callbacks"), planted_loops=8_000))

    assert_good(row)
    assert pairs.values(row)["cpu_per_page"] > 0.5


@pytest.mark.slow
def test_memory_is_read_at_two_numbers_in_flight_of_each_side(run: Run) -> None:
    row = run(Side("callbacks"), Side("native_asyncio"), memory=True)

    assert_good(row)
    found = row.measured["memory"]
    assert found["sizes"] == list(pair.MEMORY_SIZES[1])
    if found["reason"] is None:  # other programs on this machine can make one of the four readings red
        assert pairs.figure([row], "B", "memory") > pairs.figure([row], "A", "memory") > 0
        assert pairs.values(row)["memory"] > 0


def test_a_side_that_fails_only_when_its_memory_is_read_has_failed(run: Run, mine: Callable[[str], Side]) -> None:
    shy = "def crawl(job, frontier):\n    assert job.max_in_flight < 200, 'too many'\n    honest(job, frontier)\n"

    row = run(Side("callbacks"), mine(shy), 2, memory=True)

    assert (row.status, row.measured["failed_side"]) == ("failed", "B")
    assert row.reason == ("side B with 240 in flight held for memory: the strategy raised AssertionError: too many")
    assert len(row.measured["turns"]) == 10


# When a side goes wrong

ENDINGS = {
    # how: (the body of its file, status, what the reason says)
    "raises": (RAISES, "failed", "the strategy raised LookupError: no such thing"),
    "raises_the_third_time": (FAILS_THE_THIRD_TIME, "failed", "the strategy raised LookupError: the third time"),
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
        "the worker exited with 1: AttributeError: module 'strategies.mine' has no attribute ",
    ),
    "forgets_one": (FORGETS_ONE, "wrong", "side B: 1 pages missing, 0 too many, 0 different"),
    "writes_rubbish_to_every_descriptor": (
        (
            "def crawl(job, frontier):\n"
            "    for descriptor in range(3, 20):\n"
            "        try:\n"
            "            os.write(descriptor, b'{rubbish\\n')\n"
            "        except OSError:\n"
            "            pass\n"
        ),
        "failed",
        "the worker printed rubbish: b'{rubbish'",
    ),
    "says_what_is_not_due": (
        'def crawl(job, frontier):\n    os.write(3, b\'{"event": "answer"}\\n\')\n',
        "failed",
        "the worker said 'answer' when 'crawled' was due",
    ),
    "says_half_of_it": (
        'def crawl(job, frontier):\n    os.write(3, b\'{"event": "crawled", "error": null}\\n\')\n',
        "failed",
        "the worker did not say what its turn took: 'cpu_ns'",
    ),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_a_side_that_goes_wrong_is_named(run: Run, mine: Callable[[str], Side], how: str) -> None:
    body, status, reason = ENDINGS[how]

    row = run(Side("callbacks"), mine(body))

    assert (row.status, row.measured["failed_side"]) == (status, "B")
    assert reason in str(row.reason)
    assert_whole(row)
    assert pairs.tally([row]).failed_b == 1


@pytest.mark.parametrize("number", [1, 2])
def test_the_first_side_is_named_just_so(run: Run, mine: Callable[[str], Side], number: int) -> None:
    row = run(mine(RAISES), Side("callbacks"), number)

    assert (row.status, row.measured["failed_side"]) == ("failed", "A")
    assert_whole(row)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(
    ("body", "status"),
    [(FORGETS_ONE, "wrong"), (FAILS_THE_THIRD_TIME, "failed")],
    ids=["which_is_wrong_too", "which_breaks_off"],
)
def test_where_a_is_wrong_it_is_not_held_against_b(
    run: Run, mine: Callable[[str], Side], number: int, body: str, status: str
) -> None:
    row = run(mine(FORGETS_ONE), mine(body), number)

    assert row.status == status
    assert row.measured["failed_side"] == "A"
    assert_whole(row)


@pytest.mark.slow
def test_a_side_that_hangs_is_ended_at_its_deadline(
    run: Run, mine: Callable[[str], Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair, "LIFETIME_S", 10)

    row = run(Side("callbacks"), mine("def crawl(job, frontier):\n    time.sleep(1000)\n"))

    assert (row.status, row.measured["failed_side"]) == ("timeout", "B")
    assert row.reason == "the worker was not done by its deadline, and was killed"
    assert_whole(row)


def test_a_server_that_dies_is_neither_sides_fault(tmp_path: Path) -> None:
    body = "def crawl(job, frontier):\n    os.kill(int(os.environ['SERVER']), signal.SIGKILL)\n    time.sleep(0.2)\n"
    with server.running(None) as own:
        mine = Side("mine", repository=with_mine(tmp_path / "fork", body), variables={"SERVER": str(own.process.pid)})
        comparison = Comparison(Side("callbacks"), mine, SiteConfig(pages=300), TIMED)
        row = run_pair(PairTrial(comparison, 1, memory=False), ready(comparison, tmp_path), own, SETTING)

    assert row.status == "failed"
    assert str(row.reason).startswith("the fake server died in mid-trial")
    assert "failed_side" not in row.measured
    assert pairs.tally([row]).dropped == 1
    assert_whole(row)


def test_after_a_side_that_went_wrong_the_next_pair_is_good(run: Run, mine: Callable[[str], Side]) -> None:
    run(Side("callbacks"), mine("def crawl(job, frontier):\n    os._exit(1)\n"))

    assert_good(run(Side("callbacks"), Side("generators")))


# Calibration


def test_calibration_gives_the_pages_that_were_asked_for_or_some_that_are_enough(fake: Server, tmp_path: Path) -> None:
    comparison = Comparison(Side("callbacks"), Side("callbacks", in_flight=250), SiteConfig(), TIMED)
    sides = ready(comparison, tmp_path)

    asked, found = (calibrate(comparison, sides, fake, SETTING, pages) for pages in (123, None))

    assert asked.pages == 123
    assert 2 * 250 <= found.pages <= pair.MOST_PAGES
    assert asked.turns_s > 0 < asked.memory_s


@pytest.mark.parametrize(("body", "reason"), [(RAISES, "the strategy raised LookupError"), (FORGETS_ONE, "a wrong ")])
def test_calibration_names_the_side_that_cannot_do_the_work(
    fake: Server, tmp_path: Path, mine: Callable[[str], Side], body: str, reason: str
) -> None:
    comparison = Comparison(Side("callbacks"), mine(body), SiteConfig(), TIMED)

    with pytest.raises(WorkerError, match=rf"side B, mine \(.*fork.*\): {reason}"):
        calibrate(comparison, ready(comparison, tmp_path), fake, SETTING)


def test_what_runs_is_the_copy_and_never_the_file_beside_it(
    fake: Server, tmp_path: Path, mine: Callable[[str], Side]
) -> None:
    side = mine(HONEST)
    comparison = Comparison(Side("callbacks"), side, SiteConfig(pages=300), TIMED)
    sides = ready(comparison, tmp_path)
    assert side.repository is not None
    (side.repository / "strategies" / "mine.py").write_text("raise SystemExit", encoding="utf-8")

    assert_good(run_pair(PairTrial(comparison, 1, memory=False), sides, fake, SETTING))
