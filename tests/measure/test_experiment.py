"""Experiments: parsing, and one clear sentence for each mistake."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

from inflight import strategies
from inflight.bench.plan.experiment import MAX_SEED, Experiment, ExperimentError, load, parse, preset_names
from inflight.bench.plan.grid import CONNECTIONS, CountsTable, CrawlTable, Grid, MemoryTable, ThroughputTable
from inflight.bench.rows.kinds import CrawlWorkload
from inflight.fake_server.delays import parse_delay
from inflight.fake_server.site import SiteConfig

KNOWN = ("sequential", "thread_pool", "callbacks")
CRAWL = "[[crawl]]\n"
SERIES = Path(__file__).parents[2] / "results" / "series"
PATIENT = settings(deadline=None)


def read(text: str) -> Experiment:
    return parse(tomllib.loads(text), "name", KNOWN, "my.toml")


def workloads_of(experiment: Experiment) -> list[CrawlWorkload]:
    return [workload for _, workload in experiment.cells()]


def refusal(text: str) -> str:
    with pytest.raises(ExperimentError) as caught:
        read(text)
    return str(caught.value)


def test_an_empty_crawl_table_is_an_experiment_with_defaults() -> None:
    experiment = read(CRAWL)

    assert experiment.strategies == KNOWN
    assert (experiment.rounds, experiment.seed, experiment.pin, experiment.deadline_s) == (1, 1, True, None)
    ((grid, workload),) = experiment.cells()
    assert (grid.trials, workload.in_flight, workload.connection) == ("crawl", 100, "keep-alive")
    assert to_builtins(workload.site) == SiteConfig().to_dict()


AROUND = {"before a crawl": "{}\n[[crawl]]\n", "alone": "{}"}
"""Where a text stands that is not in a table of the name."""
MISTAKES = tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text("utf-8"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (AROUND.get(table, f"[[{table}]]\n{{}}").replace("{}", text), words)
        for table, sentences in MISTAKES.items()
        for text, words in sentences.items()
    ],
)
def test_each_mistake_has_one_sentence_that_says_what_and_where(text: str, words: str) -> None:
    sentence = refusal(text)

    assert sentence.startswith("my.toml")
    assert "\n" not in sentence
    for part in words.split(" ... "):
        assert part in sentence


@pytest.mark.parametrize("name", ["smok", "quick.toml.toml", "no/such/folder/x.toml"])
def test_what_is_neither_preset_nor_file_is_said(name: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        load(name, KNOWN)

    sentence = str(caught.value)
    assert name in sentence
    if "." not in name:
        assert 'did you mean "smoke"?' in sentence
        assert "TOML file" in sentence
    else:
        assert "No such file" in sentence


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[[crawl]\n", "x.toml is not TOML: "),
        (b"rounds = 1\nrounds = 2\n", "x.toml is not TOML: "),
        (b"\xff\xfe\x00", "x.toml is not TOML: "),
        (b"", "x.toml: nothing to do"),
        (b"rounds = 99999999999999999999999999\n[[crawl]]", "x.toml: rounds must be"),
    ],
)
def test_a_file_that_is_no_experiment_is_said(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)

    with pytest.raises(ExperimentError) as caught:
        load(str(path), KNOWN)

    assert str(caught.value).startswith(words)


def test_a_folder_is_no_experiment(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="Is a directory"):
        load(str(tmp_path), KNOWN)


def test_a_file_need_not_be_named_toml(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text(CRAWL, "utf-8")

    assert load(str(path), KNOWN).name == "mine"


def test_own_site_values_go_before_common_ones() -> None:
    experiment = read("[site]\nlinks = 3\nbody_bytes = 5\n" + CRAWL + "site = { links = 0 }\n" + CRAWL)

    assert [grid.site for grid in experiment.grids] == [{"links": 0, "body_bytes": 5}, {"links": 3, "body_bytes": 5}]


def test_seconds_cut_the_pages_where_there_is_latency() -> None:
    text = "latency = ['0', '10ms']\nin_flight = [1, 10, 1000]\npages = 500\nseconds = 0.2\n"

    workloads = workloads_of(read(CRAWL + text))

    pages = {(workload.site.delay, workload.in_flight): workload.site.pages for workload in workloads}
    assert pages == {
        ("0", 1): 500, ("0", 10): 500, ("0", 1000): 500,
        ("10ms", 1): 20, ("10ms", 10): 200, ("10ms", 1000): 500,
    }  # fmt: skip


def test_a_memory_trial_has_one_page_for_each_fetch() -> None:
    workloads = workloads_of(read("[site]\npages = 100\n[[memory]]\nin_flight = [3, 7]"))

    assert [(workload.site.pages, workload.roots) for workload in workloads] == [(3, 3), (7, 7)]


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_loads_and_says_what_it_is_about(name: str) -> None:
    experiment = load(name, strategies.names())

    assert experiment.name == name
    assert experiment.about
    assert experiment.cells() or experiment.bare
    assert parse(experiment.to_dict(), name, strategies.names(), "again.toml") == experiment


def test_the_series_has_the_workloads_of_its_stored_runs_and_new_ones_after_them() -> None:
    def blocks(name: str) -> list[tuple[CrawlWorkload, Any, Any]]:
        experiment = load(name, strategies.names())
        return [
            (each, grid.cycles, grid.rounds or experiment.rounds)
            for grid, each in experiment.cells()
            if isinstance(grid, ThroughputTable)
        ]

    stored = sorted(SERIES.glob("*/experiment.toml"))
    assert stored
    now = blocks("series")

    for file in stored:
        before = blocks(str(file))
        assert now[: len(before)] == before
    assert [(each.site.delay, each.in_flight, cycles) for each, cycles, _ in now[4:]] == [("50ms", 100, 1)]


DELAYS = st.sampled_from(
    [
        "0",
        "1ms",
        "50ms",
        "uniform 1ms 2ms",
        "exponential 5ms",
        "pareto 1ms 1.5",
        "250us",
    ]
)
FAULTS = st.dictionaries(
    st.sampled_from(["drip", "chunked", "reset-mid"]),
    st.floats(0, 0.3),
    max_size=3,
)
SITES = st.fixed_dictionaries(
    {},
    optional={
        "faults": FAULTS,
        "pages": st.integers(1, 10**6),
        "links": st.integers(0, 50),
        "redirects": st.floats(0, 0.5),
        "missing": st.floats(0, 0.5),
        "seed": st.integers(-(2**63), 2**63 - 1),
    },
)


def some(values: st.SearchStrategy[Any], most: int = 3) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, min_size=1, max_size=most, unique=True).map(tuple)


CROSSED = {
    "latency": some(DELAYS),
    "in_flight": some(st.integers(1, 2000)),
    "connection": some(st.sampled_from(CONNECTIONS)),
}
OF_SITES = {
    "seconds": st.none() | st.floats(0.001, 1000),
    "site": SITES,
    "rounds": st.none() | st.integers(1, 1000),
}
BLOCKS_OF_ARMS = {
    "site": st.fixed_dictionaries({"links": st.integers(1, 50)}),
    "cycles": st.integers(1, 1000),
    "patience_s": st.none() | st.floats(0.001, 1000),
}


def tables(kind: type[Grid], **values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Grid, ...]]:
    return st.lists(st.builds(kind, **CROSSED, **values), min_size=1, max_size=2).map(tuple)


def counted() -> st.SearchStrategy[tuple[CountsTable, ...]]:
    values = {
        "repeats": st.integers(1, 10),
        "bytecodes": st.booleans(),
        "connection": CROSSED["connection"],
    }
    return st.lists(st.builds(CountsTable, **values), max_size=2).map(tuple)


def experiments() -> st.SearchStrategy[Experiment]:
    return st.builds(
        Experiment,
        name=st.just("name"),
        about=st.text(st.characters(codec="utf-8", exclude_characters="\r\x00")).map(str.strip),
        strategies=some(st.sampled_from(KNOWN)),
        rounds=st.integers(1, 1000),
        seed=st.integers(0, MAX_SEED),
        pin=st.booleans(),
        deadline_s=st.none() | st.floats(0.001, 10_000) | st.integers(1, 10_000),
        crawl=tables(CrawlTable, **OF_SITES),
        memory=st.just(())
        | tables(
            MemoryTable,
            site=SITES,
            waves=st.integers(1, 100),
            parked=st.booleans(),
        ),
        throughput=st.just(()) | tables(ThroughputTable, **BLOCKS_OF_ARMS),
        counts=counted(),
    )


@PATIENT
@given(experiments())
def test_what_is_written_beside_the_rows_reads_back_as_the_same_experiment(experiment: Experiment) -> None:
    written = tomli_w.dumps(experiment.to_dict(), multiline_strings=True)

    assert parse(tomllib.loads(written), experiment.name, KNOWN, "x.toml") == experiment


@PATIENT
@given(experiments())
def test_every_cell_has_an_id_of_its_own_and_a_site_that_exists(experiment: Experiment) -> None:
    workloads = workloads_of(experiment)

    assert len({workload.id for workload in workloads}) == len(workloads)
    for workload in workloads:
        assert 1 <= workload.roots <= workload.site.pages
        assert round(parse_delay(workload.site.delay).mean_ns) == workload.mean_latency_ns


JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["0", "callbacks"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["latency", "in_flight", "site", "pages", "faults", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
KEYS = ("about", "strategies", "rounds", "seed", "pin", "deadline_s", "site", "crawl", "memory", "else")


@PATIENT
@given(st.dictionaries(st.sampled_from(KEYS), JUNK, max_size=4), JUNK)
def test_junk_is_read_or_refused_and_never_crashes(values: dict[str, Any], cell: Any) -> None:
    for junk in (values, values | {"crawl": [cell]}):
        refused = "my.toml"
        try:
            parse(junk, "name", KNOWN, "my.toml").cells()
        except ExperimentError as error:
            refused = str(error)
        assert refused.startswith("my.toml")
