"""The tables of memory in layers, limits and probes: as text, beside the section of throughput, and as JSON."""

import json
from collections.abc import Sequence

import pytest

from inflight.bench.core import units
from inflight.bench.report.terminal import WIDTH, summary_json, summary_table
from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from inflight.bench.rows.values import plain_values
from inflight.bench.studies.memory.read import subjects
from inflight.bench.studies.memory.show import of_ladder, sections
from tests.made_rows import crawl_row, memory_rows
from tests.present.made_memory_rows import (
    PARKED,
    c10k_run,
    held_row,
    idle_row,
    ladder,
    limit_row,
    memory_run,
    probe_row,
)

SIZES = (1000, 2000, 4000, 7000, 10_000)
HOSTILE = "$x^{2}$<b>&[red]`|\x1b[31m\n" * 4


def text(rows: list[Row]) -> str:
    return summary_table(rows).plain


def lines(rows: list[Row], subject: str) -> list[str]:
    return [" ".join(line.split()) for line in text(rows).splitlines() if line.startswith(subject)]


def test_a_block_has_every_layer_with_its_error_and_the_figures_of_the_authors_method() -> None:
    layers, protocol = lines(ladder({"thread": PARKED["thread"]}, SIZES, noise=1), "thread")

    assert layers == "thread 16,460 ±0 4,154 ±0 16,384 ±0 7,820 ±0 44,818 ±0 16,460 ±0 14.4 MB"
    assert protocol == "thread 10,000 189 MB 18.9 kB 16.5 kB 44.8 kB"


def test_the_tables_as_a_teacher_shows_them() -> None:
    rows = [*ladder({"thread": PARKED["thread"]}, SIZES, noise=1), *(held_row(n=n) for n in SIZES)]

    shown = [" ".join(line.split()) for line in text(rows).splitlines()]
    first = shown.index("Memory per additional thread, task or fetch (bytes)")
    assert shown[first : first + 8] == [
        "Memory per additional thread, task or fetch (bytes)",
        "page kernel slab, all empty",
        "user tables stacks sockets layers resident process",
        "─── idle threads and tasks ".ljust(WIDTH, "─"),
        "thread 16,460 ±0 4,154 ±0 16,384 ±0 7,820 ±0 44,818 ±0 16,460 ±0 14.4 MB",
        "─── fetches in flight ".ljust(WIDTH, "─"),
        "callbacks 400 ±0 1 ±0 0 ±0 8,300 ±0 8,701 ±0 400 ±0 14.4 MB",
        "Slopes over N, ± half of their 95 % interval.",
    ]


def test_no_line_is_too_wide() -> None:
    rows = [*memory_run(1), *c10k_run(1), limit_row(), probe_row(), *(held_row(HOSTILE, n) for n in SIZES)]
    found = text(rows)

    assert max(map(len, found.splitlines())) <= WIDTH
    for group in ("idle threads and tasks", "parked strategies", "fetches in flight"):
        assert f"─── {group} " in found


def test_an_unknown_layer_is_a_dash_and_never_zero() -> None:
    [layers, _] = lines([idle_row(n=n, unknown=("slab_bytes", "kernel_stack_bytes")) for n in SIZES], "thread")

    assert layers == "thread 16,460 ±0 4,154 ±0 - - - 16,460 ±0 14.4 MB"


def test_a_name_with_a_star_is_whole_and_the_star_is_explained() -> None:
    wild = zip(SIZES, (9_000_000, -8_000_000, 0, 9_000_000, -9_000_000), strict=True)
    rows = [held_row("aiohttp_client", n, (90_000, 4_000, 16_000, 80_000), stack="own", jitter=off) for n, off in wild]
    found = text(rows)

    assert "aiohttp_client *" in found
    assert "* with an HTTP stack of its own." in found
    assert max(map(len, found.splitlines())) <= WIDTH
    assert "HTTP stack" not in text([held_row(n=n) for n in SIZES])


def test_a_subject_without_a_slope_is_named() -> None:
    rows = [*(held_row(n=n) for n in SIZES), held_row("generators")]

    assert "No slope for generators: valid trials at too few numbers." in text(rows)


def test_invalid_rows_are_explained_and_part_of_no_slope() -> None:
    found = text([idle_row(n=n, invalid=True) for n in SIZES])

    assert "No valid trial among 5: nothing here supports a conclusion" in found
    assert 'thread: all 5 trials are invalid: failed "server had room" 5 times' in found


def test_held_fetches_have_times_and_failures_a_status() -> None:
    rows = [held_row(), held_row("thread_pool", status="failed", reason="RLIMIT_NPROC allows 900 threads")]

    assert lines(rows, "callbacks") == ["callbacks keep-alive 10,000 1.0 s 800 ms - 330 ms 87.0 MB - 0, 0"]
    assert lines(rows, "thread_pool")[0] == "thread_pool keep-alive 10,000 failed - - - - - -, -"
    assert "failed (RLIMIT_NPROC allows 900 threads)" in text(rows)


@pytest.mark.parametrize(("cpu_ns", "shown"), [(0, "< 10 ms"), (10_000_000, "10 ms"), (None, "-")])
def test_a_cpu_time_below_a_clock_tick_is_less_than_a_tick(cpu_ns: int | None, shown: str) -> None:
    rows = [changed(held_row(), measured=plain_values(held_row().measured) | {"reach_cpu_ns": cpu_ns})]

    assert lines(rows, "callbacks") == [f"callbacks keep-alive 10,000 1.0 s {shown} - 330 ms 87.0 MB - 0, 0"]
    assert summary_json(rows)["held"][0]["reach_cpu_ns"] == cpu_ns


def test_invalid_times_are_marked() -> None:
    assert lines([held_row(invalid=True)], "callbacks")[0].startswith("callbacks ✗ keep-alive 10,000")


def test_a_limit_of_memory_is_a_size() -> None:
    assert "23.5 GB" in text([limit_row("memory", predicted=23_465_975_808, found=None)])


def test_a_limit_is_named_with_what_to_raise() -> None:
    found = text([limit_row()])

    assert "threads     21,790  21,835  failure  vm.max_map_count" in found
    assert "threads: sysctl vm.max_map_count=262144. The next limit is kernel.pid_max, 32,448." in found


@pytest.mark.parametrize("row", [limit_row(status="failed"), probe_row(), limit_row("memory", found=None, next=None)])
def test_one_bare_row_alone_is_shown(row: Row) -> None:
    assert row.strategy in text([row])


def test_a_probe_shows_its_figures_with_their_units() -> None:
    found = " ".join(text([probe_row(cpu_ns=900_000_000, cpu_share=0.5, attempts=7)]).split())

    assert "cpu 900 ms; cpu share 0.500; attempts 7" in found


def test_a_probe_is_the_median_of_its_valid_rounds_with_arguments_once() -> None:
    rows = [probe_row(number=number, attempts=turns) for number, turns in ((1, 10), (2, 30), (3, 20))]

    lines = text(rows).splitlines()
    found = lines[lines.index("spin (how spin)") + 1]
    assert found.endswith("attempts 20")
    assert "how" not in found
    assert lines[-1].startswith("Medians over the rounds.")


def test_a_probe_without_a_valid_round_says_why() -> None:
    assert "failed: for a reason" in text([changed(probe_row(), status="failed", reason="for a reason")])


def test_memory_trials_without_other_layers_have_user_memory() -> None:
    [layers, _] = lines(memory_rows(), "callbacks")

    assert layers.startswith("callbacks 1,001 ±1 - - - - 1,001 ±1 ")
    assert layers.endswith(" 10.0 MB")


def test_the_json_has_every_figure_and_strategies_are_strategies() -> None:
    rows = [*ladder({"thread": PARKED["thread"]}, SIZES, noise=1), held_row(), limit_row(), probe_row(), crawl_row()]
    found = json.loads(json.dumps(summary_json(rows), allow_nan=False))

    assert [line["strategy"] for line in found["strategies"]] == ["callbacks"]
    assert found["layers"][0]["slopes"]["all layers"]["per_fetch"] == pytest.approx(44_818, abs=1)
    assert found["layers"][0]["connection"] is None
    assert found["layers"][1]["reasons"]["user"] == "needs 5 different numbers in flight, has 1"
    assert found["held"][0]["reach_ns"] == 1_000_000_000
    assert found["held"][0]["added_bytes"] == 87_010_000
    assert found["limits"][0]["bound_by"] == "vm.max_map_count"
    assert found["probes"][0] == {
        "probe": "spin",
        "arguments": {"how": "spin"},
        "valid": True,
        "measured": plain_values(probe_row().measured),
    }


def test_the_json_of_no_rows_is_empty() -> None:
    assert [summary_json([])[key] for key in ("layers", "held", "limits", "probes")] == [[], [], [], []]


# The titles


def title(rows: list[Row]) -> str:
    """Return the first finding."""
    return sections(rows)[0].title


def test_the_usual_blocks_are_compared_or_else_the_ends_of_the_shared_stack() -> None:
    pair = ladder({name: PARKED[name] for name in ("generator", "asyncio_task", "thread")}, SIZES, noise=1)
    own = [held_row("client", n, (90_000, 1, 0, 0), stack="own") for n in SIZES]
    models = [held_row(name, n, (size, 0, 0, 0)) for name, size in (("a", 400), ("b", 2000)) for n in SIZES]

    told = "Each additional waiting thread or task takes 44.8 kB with thread, 1.15 kB with asyncio task: 39x"
    assert title(pair) == told
    assert title([*models, *own]) == "Each additional fetch in flight takes 2.00 kB with b, 400 B with a: 5.0x"
    assert title([*pair, *models]) == f"{title(pair)}; e{title(models)[1:]}"


def test_without_all_layers_the_title_says_user_memory() -> None:
    unknown = ("slab_bytes", "kernel_stack_bytes")
    rows = [idle_row(name, n, unknown=unknown) for name in ("thread", "asyncio_task") for n in SIZES]

    assert title(rows) == (
        "Each additional waiting thread or task takes 16.5 kB of user memory with thread, "
        "1.15 kB with asyncio task: 14x"
    )
    assert title(memory_rows("a", 1000)) == "Each additional fetch in flight takes 1.00 kB of user memory with a"


def test_overlapping_intervals_and_bent_lines_give_no_ratio() -> None:
    jitter = (300_000, -300_000, 0, 300_000, -300_000)
    near = [
        held_row(name, n, (size, 0, 0, 0), jitter=off)
        for name, size in (("a", 400), ("b", 410))
        for n, off in zip(SIZES, jitter, strict=True)
    ]
    numbers = (2000, 4000, 6000, 8000, 10_000, 12_000, 14_000)
    bent = [idle_row(n=n, each=(500 + 4500 * max(0, n - 6000) // n, 0, 0, 0)) for n in numbers]

    assert title(near).endswith(": the intervals overlap")
    assert title(bent) == "No slope of memory: nothing to conclude"


WILD = (9_000_000, -8_000_000, 0, 9_000_000, -9_000_000)
"""Noise in bytes of each of SIZES; slopes of some kB then have an interval that includes 0."""


def fetches(name: str, each: tuple[int, int, int, int], noise: Sequence[int] = (0,) * len(SIZES)) -> list[Row]:
    """Return one trial of each of SIZES."""
    return [held_row(name, n, each, jitter=off) for n, off in zip(SIZES, noise, strict=True)]


def test_a_slope_whose_interval_includes_0_is_unknown_to_the_title() -> None:
    wild = fetches("wild", (3_800, 0, 0, 0), WILD)
    known = [*fetches("a", (400, 0, 0, 0)), *fetches("b", (2000, 0, 0, 0))]

    assert title(wild) == "No slope of memory: nothing to conclude"
    assert (
        title([*wild, *known[:5]])
        == "Each additional fetch in flight takes 400 B with a (1 of 2 not known well enough)"
    )
    assert title([*wild, *known]).endswith("takes 2.00 kB with b, 400 B with a: 5.0x (1 of 3 not known well enough)")


def test_a_strategy_without_a_slope_is_unknown_to_the_title() -> None:
    known = [*fetches("a", (400, 0, 0, 0)), *fetches("b", (2000, 0, 0, 0))]

    assert title([*known, held_row("c")]).endswith(": 5.0x (1 of 3 not known well enough)")


def test_the_title_of_the_ladder_states_the_fitted_line_not_one_trial() -> None:
    noise = (0, 0, 0, 0, 4_000_000)
    [subject] = subjects(fetches("a", (10_000, 0, 0, 0), noise))

    _, most = max(subject.added(subject.rows))
    told = subject.added_at(max(subject.numbers))
    assert max(subject.numbers) == max(SIZES)
    assert told < most
    assert f"{units.size(told)} with a" in of_ladder([subject])


def test_the_title_of_the_ladder_compares_at_the_largest_n_of_both() -> None:
    few = [held_row("a", n, (9000, 0, 0, 0)) for n in SIZES[:-1]]
    many = fetches("b", (1000, 0, 0, 0))

    told = of_ladder(subjects([*few, *many]))

    assert told.startswith(f"{SIZES[-2]:,} fetches in flight take ")
    assert told.index("with a") < told.index("with b")


def test_the_title_of_the_ladder_names_one_without_a_common_n() -> None:
    few = [held_row("a", n, (9000, 0, 0, 0)) for n in (100, 200, 300)]

    told = of_ladder(subjects([*few, *fetches("b", (1000, 0, 0, 0))]))

    assert told.startswith(f"{SIZES[-1]:,} fetches in flight take ")
    assert told.endswith("with b")


def test_the_title_of_held_fetches_names_first_and_last_of_each_setting() -> None:
    rows = [
        held_row(name, connection=use, reach_ms=ms, number=number)
        for name, use, ms in (
            ("a", "keep-alive", 1000), ("b", "keep-alive", 4000), ("a", "per-fetch", 9000), ("b", "per-fetch", 8000),
            ("c", "per-fetch", 1000),
        )
        for number in (1, 2)
    ]  # fmt: skip

    assert sections(rows)[-1].title == (
        "2 strategies that were tried in every setting held 10,000 fetches in flight at once; per-fetch "
        "connections: b after 8.00 s, a after 9.00 s; keep-alive connections: a after 1.00 s, b after 4.00 s"
    )
    assert sections(rows[:1])[-1].title.endswith("at once; a after 1.0 s (one round)")
    assert "nothing to conclude" in sections([held_row(invalid=True)])[-1].title
