"""The plan: each cell once a round, shuffled by the seed, and the same every time."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

from inflight.bench.measure import run as runs
from inflight.bench.plan.bare import IdleTable, LimitTable, ProbeTable
from inflight.bench.plan.experiment import Experiment, ExperimentError, load, parse
from inflight.bench.plan.grid import CountsTable, CrawlTable, MemoryTable
from inflight.bench.plan.trial import Trial, row_trials
from inflight.bench.plan.trials import above_limits, estimate_ns, expand, remarks
from inflight.strategies import Description, names

DESCRIBED = {
    "one": Description("one", "One at a time.", "shared", (), 1),
    "many": Description("many", "Many.", "shared", (), None),
    "some": Description("some", "At most five.", "shared", (), 5),
    "own": Description("own", "Its own stack.", "own", ("x",), None),
}
CAPS = (1, 2, 5, 6)
FEW = settings(max_examples=15, deadline=None)


def an_experiment(
    seed: int = 1, rounds: int = 1, strategies: tuple[str, ...] = tuple(DESCRIBED), caps: tuple[int, ...] = CAPS
) -> Experiment:
    return Experiment(
        name="x",
        strategies=strategies,
        rounds=rounds,
        seed=seed,
        crawl=(CrawlTable(latency=("0", "1ms"), in_flight=caps, pages=20),),
        memory=(MemoryTable(in_flight=caps, site={"links": 0}),),
    )


def plan(seed: int = 1, rounds: int = 1) -> list[Trial]:
    return crawls(an_experiment(seed, rounds))


def crawls(experiment: Experiment) -> list[Trial]:
    trials = expand(experiment, DESCRIBED)
    assert not any(trial.is_block for trial in trials)
    return trials


def test_a_strategy_whose_limit_is_below_some_caps_is_listed() -> None:
    found = {caps: above_limits(an_experiment(caps=caps), DESCRIBED) for caps in ((1,), (5,), (6,), (5, 6))}

    assert found == {
        (1,): {},
        (5,): {"one": 1},
        (6,): {"one": 1, "some": 5},
        (5, 6): {"one": 1, "some": 5},
    }


def test_what_a_plan_leaves_out_limits_or_merges_is_in_its_remarks() -> None:
    crawl = {"in_flight": [100], "pages": 10}
    tables = [crawl | {"strategies": ["own"]}, crawl, {"in_flight": [10], "pages": 10}]
    experiment = parse({"strategies": ["many"], "crawl": tables}, "x", DESCRIBED, "x.toml")

    first, second = (f"crawl-{number}/latency=0/in_flight=100/keep-alive" for number in (1, 2))
    short = "never more than 10 in flight, which is its number of pages"
    assert list(remarks(experiment)) == [
        "left out of a [[crawl]], because this run is without them: own",
        f"{first}: {short}",
        f"{second}: {short}",
        "two [[crawl]] tables have the same workload with 100 in flight: results have the rounds of both together",
    ]


def test_a_strategy_is_not_compared_with_itself_in_equal_settings() -> None:
    with pytest.raises(ExperimentError, match="against has the settings of the table; name another value there"):
        blocks_of({"against": {"lag": False}})


@FEW
@given(st.integers(0, 2**63 - 1), st.integers(1, 5))
def test_each_round_has_each_cell_once(seed: int, rounds: int) -> None:
    trials = plan(seed, rounds)

    cells = [(trial.workload.id, trial.name) for trial in trials]
    size = len(trials) // rounds
    for number in range(rounds):
        part = slice(number * size, (number + 1) * size)
        assert {trial.round for trial in trials[part]} == {number + 1}
        assert set(Counter(cells[part]).values()) == {1}
        assert set(cells[part]) == set(cells)
    assert len({trial.id for trial in trials}) == len(trials)
    assert plan(seed, rounds) == trials
    assert {trial.id for trial in plan(seed + 1, rounds)} == {trial.id for trial in trials}, "only the order differs"


def test_rounds_are_shuffled_differently() -> None:
    trials = plan(rounds=3)

    orders = {tuple(trial.id.rpartition("/")[0] for trial in trials if trial.round == n) for n in (1, 2, 3)}
    assert len(orders) == 3
    assert plan(seed=2) != plan(seed=1)


def test_the_rounds_of_a_table_are_its_own_or_else_those_of_the_experiment() -> None:
    tables = [{"in_flight": [1], "rounds": 6}, {"in_flight": [2]}]
    experiment = parse({"strategies": ["many"], "throughput": tables}, "x", DESCRIBED, "x.toml")

    def blocks(asked: Experiment) -> Counter[int]:
        return Counter(trial.workload.in_flight for trial in expand(asked, DESCRIBED))

    assert blocks(experiment) == {1: 6, 2: 1}
    assert blocks(experiment.cut_to(4)) == {1: 4, 2: 4}
    assert blocks(experiment.cut_to(9)) == {1: 6, 2: 9}
    assert parse(experiment.cut_to(4).to_dict(), "x", DESCRIBED, "x.toml") == experiment.cut_to(4)


def test_a_model_with_a_limit_is_left_out_above_it() -> None:
    caps = {name: {t.workload.in_flight for t in plan() if t.name == name} for name in DESCRIBED}

    assert caps == {"one": {1}, "some": {1, 2, 5}, "many": set(CAPS), "own": set(CAPS)}


def test_a_grid_may_be_for_some_strategies_only() -> None:
    crawl, memory = CrawlTable(in_flight=(1,)), MemoryTable(in_flight=(3,), strategies=("many",))

    trials = crawls(
        Experiment(
            name="x",
            strategies=("one", "many", "own"),
            crawl=(crawl,),
            memory=(memory,),
        )
    )

    assert {t.name for t in trials if t.kind == "crawl"} == {"one", "many", "own"}
    assert [t.name for t in trials if t.kind == "memory"] == ["many"]


def test_blocks_probes_and_limits_are_trials_like_others() -> None:
    experiment = Experiment(
        name="x",
        strategies=("many",),
        rounds=2,
        crawl=(CrawlTable(),),
        idle=(IdleTable(what=("thread", "generator"), n=(10, 20)),),
        probe=(ProbeTable(probe="spin", each={"wait_ms": (1, 2), "how": ("spin",)}, rounds=1),),
        limit=(LimitTable(resources=("threads",)),),
    )

    trials = expand(experiment, DESCRIBED)

    kinds = [Counter(trial.kind for trial in trials if trial.round == n) for n in (1, 2)]
    assert kinds == [{"crawl": 1, "idle": 4, "probe": 2, "limit": 1}, {"crawl": 1, "idle": 4, "limit": 1}]
    assert len({trial.id for trial in trials}) == len(trials)
    assert "probe/spin/how=spin/wait_ms=1/round=1" in {trial.id for trial in trials}
    assert {part.stack for trial in trials if trial.kind != "crawl" for part in row_trials(trial)} == {"none"}
    subjects = {
        "crawl": {"many"},
        "idle": {"thread", "generator"},
        "probe": {"spin"},
        "limit": {"threads"},
    }
    assert {kind: {trial.name for trial in trials if trial.kind == kind} for kind in subjects} == subjects


def test_reachable_is_the_least_of_cap_site_and_model() -> None:
    for trial in plan():
        limits = [trial.workload.in_flight, trial.workload.site.pages]
        assert trial.reachable == min(limits + [1] * (trial.name == "one") + [5] * (trial.name == "some"))


def test_an_estimate_grows_with_pages_and_with_latency() -> None:
    def estimate(latency: str, pages: int) -> int:
        grid = CrawlTable(latency=(latency,), in_flight=(10,), pages=pages)
        return estimate_ns(
            expand(
                Experiment(
                    name="x",
                    strategies=("many",),
                    crawl=(grid,),
                ),
                DESCRIBED,
            )
        )

    assert estimate("0", 1000) < estimate("0", 100_000) < estimate("50ms", 100_000)
    waves = {pages: (estimate("2s", pages) - estimate("1s", pages)) / 1e9 for pages in (9, 10, 11, 1000)}
    assert waves == {9: 1, 10: 1, 11: 2, 1000: 100}, "each wave of ten waits once"


@pytest.mark.parametrize("in_flight", [1, 10, 100])
def test_an_estimate_is_no_less_than_what_all_pages_cost_the_core(in_flight: int) -> None:
    def estimate(cpu: str) -> int:
        grid = CrawlTable(in_flight=(in_flight,), pages=1000, cpu=(cpu,))
        return estimate_ns(
            expand(
                Experiment(
                    name="x",
                    strategies=("many",),
                    crawl=(grid,),
                ),
                DESCRIBED,
            )
        )

    assert estimate("3ms") - estimate("1ms") == 1000 * 2_000_000


def blocks_of(table: dict[str, Any]) -> list[Trial]:
    values = {"strategies": ["many", "own"], "throughput": [table]}
    return [one for one in expand(parse(values, "x", DESCRIBED, "x.toml"), DESCRIBED) if one.is_block]


def test_a_strategy_against_itself_has_a_block_of_its_own_whose_arms_differ_in_that_setting() -> None:
    blocks = blocks_of({"in_flight": [3000], "against": {"in_flight": 100}})

    assert len({block.id for block in blocks}) == len(blocks) == 2
    for block in blocks:
        assert [(arm.role, arm.in_flight) for arm in block.arms] == [
            ("reference", 100),
            ("placebo", 100),
            ("compared", 3000),
        ]
        assert len({arm.strategy for arm in block.arms}) == 1
        assert len({arm.name for arm in block.arms}) == 3


def test_patience_is_that_of_the_block_and_raises_its_estimate() -> None:
    (usual,), (patient,) = blocks_of({}), blocks_of({"patience_s": 10})

    assert (usual.patience_s, patient.patience_s) == (None, 10)
    assert usual.expected_ns < patient.expected_ns < usual.expected_ns + len(patient.arms) * 10e9


def test_settings_are_those_of_all_arms_but_for_what_the_reference_has_otherwise() -> None:
    table = {
        "python": "free-threaded",
        "cores": 2,
        "variables": {"PYTHON_GIL": "0"},
        "against": {"variables": {"PYTHON_GIL": "1"}},
    }
    (first, *_) = blocks_of(table)

    assert {(arm.python, arm.cores) for arm in first.arms} == {("free-threaded", 2)}
    assert [arm.variables["PYTHON_GIL"] for arm in first.arms] == ["1", "1", "0"]
    assert [arm.name for arm in first.arms][::2] == ["many (PYTHON_GIL=1)", "many (PYTHON_GIL=0)"]


def test_an_arm_without_variables_has_the_name_of_its_strategy() -> None:
    (first, *_) = blocks_of({"variables": {"MALLOC_ARENA_MAX": "2"}, "against": {"variables": {}}})

    assert [arm.name for arm in first.arms] == ["many", "many again", "many (MALLOC_ARENA_MAX=2)"]


def test_a_memory_trial_has_the_settings_of_its_table() -> None:
    tables = [{"in_flight": [5], "variables": {"A": "1"}, "python": "3.13"}, {"in_flight": [5]}]
    experiment = parse({"strategies": ["many"], "memory": tables}, "x", DESCRIBED, "x.toml")

    own, plain = sorted(expand(experiment, DESCRIBED), key=lambda trial: trial.id)

    assert parse(experiment.to_dict(), "x", DESCRIBED, "x.toml") == experiment
    arm = own.workload.arm
    assert own.arms == (arm,)
    assert (own.name, arm.strategy, arm.python, arm.variables) == ("many", "many", "3.13", {"A": "1"})
    assert plain.workload.arm is None


def test_idle_threads_with_other_variables_are_other_cells() -> None:
    table = {"what": ["thread"], "n": [10]}
    values = {"strategies": [], "idle": [table, table | {"variables": {"A": "1"}}]}
    experiment = parse(values, "x", DESCRIBED, "x.toml")

    trials = expand(experiment, DESCRIBED)

    assert {trial.id for trial in trials} == {"idle/thread/n=10/round=1", "idle/thread/n=10/A=1/round=1"}
    assert sorted(map(str, (trial.workload.variables for trial in trials))) == ["{'A': '1'}", "{}"]
    assert parse(experiment.to_dict(), "x", DESCRIBED, "x.toml") == experiment


def test_a_trial_is_run_again_unless_all_its_rows_are_there() -> None:
    trials = runs.all_trials(load("quick", names()))
    block = next(trial for trial in trials if trial.kind == "arm")
    first, *others = (part.id for part in row_trials(block))

    assert runs.without_rows(trials, {first, *others}) == [trial for trial in trials if trial is not block]
    assert runs.without_rows(trials, {*others}) == trials


def test_a_fetch_that_would_wait_too_long_for_its_next_slice_is_refused() -> None:
    with pytest.raises(ExperimentError, match=r"latency=14s/.* up to 616 s for its next slice, limit 600; ask"):
        blocks_of({"latency": ["14s"]})


def test_a_trial_that_counts_takes_longer_with_each_repeat_and_with_a_stack_of_its_own() -> None:
    def expected_ns(strategy: str, repeats: int) -> int:
        (trial,) = crawls(
            Experiment(
                name="x",
                strategies=(strategy,),
                counts=(CountsTable(repeats=repeats),),
            )
        )
        return trial.expected_ns

    once_ns, twice_ns, thrice_ns = (expected_ns("many", repeats) for repeats in (1, 2, 3))
    assert 1e9 < once_ns < twice_ns < 2.5e9
    assert thrice_ns - twice_ns == twice_ns - once_ns
    assert expected_ns("own", 2) > twice_ns


def test_a_trial_that_counts_says_how() -> None:
    tables = [{}, {"repeats": 1, "bytecodes": True, "variables": {"A": "1"}}]
    experiment = parse({"strategies": ["many"], "counts": tables}, "x", DESCRIBED, "x.toml")

    other, usual = sorted(crawls(experiment), key=lambda trial: trial.workload.repeats)

    assert usual.kind == other.kind == "counts"
    assert (usual.workload.latency, usual.workload.in_flight, usual.workload.repeats) == ("1ms", 1, 2)
    assert not {"bytecodes", "arm"} & to_builtins(usual.workload).keys()
    assert (other.workload.repeats, other.workload.bytecodes) == (1, True)
    assert other.workload.arm.variables == {"A": "1"}
