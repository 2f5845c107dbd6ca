"""The findings of README.md say what the runs show: another run, another sentence."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from inflight.bench.rows.files import Row
from tests.document.made_runs import store
from tests.made_rows import arm_row, block_rows
from tests.map.made_maps import map_rows
from tests.present.made_memory_rows import held_row, idle_row
from tools.document import findings
from tools.document.stored import DocumentError

pytestmark = pytest.mark.night
SIZES = (1000, 2000, 4000, 7000, 10_000)
LIGHT = (1000, 0, 0, 0)
PARKED, FLYING = (16_000, 4_000, 16_000, 8_000), (26_000, 4_000, 16_000, 16_000)


def busy(costs_ns: Mapping[str, int]) -> list[Row]:
    return block_rows({"callbacks": 20_000, **costs_ns})


def held(flying: Mapping[str, Sequence[int]], task: Sequence[int] = LIGHT) -> list[Row]:
    """Make the rows of parked threads and tasks, and of fetches in flight, with these layers each."""
    parked = {"thread": PARKED, "asyncio_task": task}
    return [
        *(idle_row(name, n, each) for name, each in parked.items() for n in SIZES),
        *(held_row(name, n, each) for name, each in flying.items() for n in SIZES),
    ]


@pytest.mark.parametrize(
    ("costs_ns", "begin"),
    [
        ({"thread_pool": 20_000, "native_asyncio": 30_000}, "**Threads beat asyncio when"),
        ({"thread_pool": 30_000, "native_asyncio": 20_000}, "**Asyncio beats threads when"),
        ({"thread_pool": 30_000, "native_asyncio": 30_100}, "**Threads and asyncio are equally fast when"),
    ],
)
def test_the_faster_of_threads_and_asyncio_is_named_if_they_differ(costs_ns: dict[str, int], begin: str) -> None:
    assert findings.at_no_latency(busy(costs_ns)).startswith(begin)


def test_the_figures_are_those_of_the_run() -> None:
    told = findings.at_no_latency(busy({"thread_pool": 20_000, "native_asyncio": 30_000}))

    assert "with 100 fetches in flight, `thread_pool` fetches" in told
    assert ": 1.50x (95 %: 1.50 to 1.50) in this run." in told


def test_without_two_rounds_of_both_nothing_is_stated() -> None:
    with pytest.raises(DocumentError, match="no figure of native_asyncio without added latency"):
        findings.at_no_latency(busy({"thread_pool": 20_000}))
    with pytest.raises(DocumentError, match="thread_pool has no two valid rounds"):
        findings.at_no_latency([arm_row(name) for name in ("thread_pool", "native_asyncio")])


def test_the_models_tie_at_the_shortest_latency_where_all_are_within_two_percent() -> None:
    rows = map_rows(works=("0", "1ms"), caps=(10, 100), noise=0.0)

    told = findings.at_latency(rows)

    assert told.startswith("**When pages are slow, the model makes no difference up to 100 fetches in flight.** With 1")
    assert "and 100 in flight, each of the 3 concurrent models fetches" in told


def test_a_model_that_is_slower_with_fewer_in_flight_ends_the_tie() -> None:
    slow = {("10ms", 10), ("50ms", 100), ("200ms", 10)}
    rows = map_rows(works=("0", "1ms"), caps=(10, 100), noise=0.0)
    changed = [
        row
        for row in rows
        if not (row.strategy == "thread_pool" and (row.workload.latency, row.workload.in_flight) in slow)
    ]
    for latency, cap in slow:
        changed += [
            arm_row("thread_pool", latency=latency, in_flight=cap, number=n, pages_per_s=1.0) for n in (1, 2, 3)
        ]

    told = findings.at_latency(changed)

    assert told.startswith("**The model makes a difference even when pages are slow.** With 200 ms")
    assert "`thread_pool` fetches" not in told, "with 100 in flight it is as fast as the others"


def test_a_map_without_many_in_flight_shows_no_tie() -> None:
    with pytest.raises(DocumentError, match="no workload with latency and 100 or more"):
        findings.at_latency(map_rows(works=("0", "1ms"), caps=(1, 10)))


def test_the_ratio_of_memory_shrinks_in_flight_where_the_intervals_say_so() -> None:
    rows = held({"thread_pool": FLYING, "native_asyncio": (6_000, 0, 0, 8_000)})

    told = findings.one_more(rows)

    assert told.startswith(
        "**A waiting thread needs 44x the memory of a waiting asyncio task; with a fetch in flight, only 4.4x."
    )
    assert "because the connection needs more than the task" in told


def test_otherwise_neither_the_ratio_nor_the_connection_is_said_to_matter() -> None:
    rows = held({"thread_pool": FLYING, "native_asyncio": (1_100, 0, 0, 0)}, task=(2_000, 0, 0, 0))

    told = findings.one_more(rows)

    assert "with a fetch in flight, 56x.**" in told
    assert "because" not in told


def test_a_run_without_slopes_is_no_basis() -> None:
    with pytest.raises(DocumentError, match="no slope of memory of thread"):
        findings.one_more([idle_row("thread", 1000)])


def test_each_finding_names_the_command_that_shows_it(tmp_path: Path) -> None:
    store(tmp_path / "20260101T0-h-quick", busy({"thread_pool": 20_000, "native_asyncio": 30_000}))
    store(tmp_path / "20260101T0-h-map", map_rows(works=("0", "1ms"), caps=(10, 100)))
    store(tmp_path / "20260101T0-h-memory", held({"thread_pool": FLYING, "native_asyncio": (6_000, 0, 0, 8_000)}))

    lines = findings.part(tmp_path, tmp_path).splitlines()

    assert [line[:2] for line in lines] == ["1.", "2.", "3."]
    assert [line.rpartition("(")[2] for line in lines] == [
        "`inflight run quick`)",
        "`inflight run map`)",
        "`inflight run memory`)",
    ]
