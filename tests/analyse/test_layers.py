"""Layers of memory from rows: slopes of known layers only."""

from typing import Any

from inflight.bench.core.layers import FULL, LAYERS, added, cost, size_of
from inflight.bench.frame.slopes import NoSlope, Slope
from inflight.bench.rows.files import Row
from tests.made_rows import bare_row, edited, memory_row

EACH = {"uss_bytes": 16_600, "page_tables_bytes": 4_160, "kernel_stack_bytes": 16_384, "slab_bytes": 7_900}
START = {"uss_bytes": 9_000_000, "page_tables_bytes": 80_000, "kernel_stack_bytes": 2_000_000, "slab_bytes": 90_000_000}
SIZES = (1000, 2000, 4000, 7000, 10000)


def block(n: int, *, invalid: bool = False, **changes: Any) -> Row:
    measured: dict[str, Any] = {"started": n, "start_ns": 1, "cpu_ns": 1, "held_disturbed": None}
    measured |= {f"base_{name}": size for name, size in START.items()} | {"base_socket_bytes": 0}
    measured |= {f"held_{name}": START[name] + each * n for name, each in EACH.items()} | {"held_socket_bytes": 0}
    measured |= {"base_rss_bytes": 20_000_000, "held_rss_bytes": 20_000_000 + 16_600 * n}
    return bare_row("idle", "thread", {"what": "thread", "n": n}, measured | changes, invalid=invalid)


def test_each_layer_has_its_slope_and_all_together_have_theirs() -> None:
    found = cost(map(block, SIZES))

    slopes = [found.layers[name] for name in LAYERS]
    assert [round(s.per_fetch) for s in slopes if isinstance(s, Slope)] == [16_600, 4_160, 16_384, 7_900]
    assert isinstance(found.full, Slope)
    assert round(found.full.per_fetch) == sum(EACH.values())
    assert isinstance(found.resident, Slope)
    assert round(found.resident.per_fetch) == 16_600
    assert found.largest_n == 10_000


def test_the_intercept_of_the_user_layer_is_the_empty_process() -> None:
    found = cost(map(block, SIZES)).user

    assert isinstance(found, Slope)
    assert round(found.intercept) == 9_000_000


def test_an_unknown_layer_makes_the_sum_unknown() -> None:
    found = cost(block(n, held_slab_bytes=None) for n in SIZES)

    assert found.layers["slab and sockets"] == NoSlope("unknown here")
    assert found.full == NoSlope("unknown here")
    assert isinstance(found.user, Slope)


def test_a_disturbed_row_counts_for_the_process_and_not_for_the_system() -> None:
    rows = [*map(block, SIZES), block(5000, held_disturbed="of others: +9 tasks", held_slab_bytes=10**12)]

    found = cost(rows)

    assert size_of(rows[-1], "user") == START["uss_bytes"] + 5000 * EACH["uss_bytes"]
    assert added(rows[-1], "user") == 5000 * EACH["uss_bytes"]
    assert [size_of(rows[-1], layer) for layer in ("slab and sockets", FULL)] == [None, None]
    assert isinstance(found.full, Slope)
    assert round(found.full.per_fetch) == sum(EACH.values())


def test_invalid_rows_are_left_out() -> None:
    assert isinstance(cost(block(n, invalid=n == 1000) for n in SIZES).full, NoSlope)


def test_without_rows_the_cost_is_unknown() -> None:
    found = cost([])

    assert found.largest_n == 0
    assert set(found.slopes.values()) == {NoSlope("unknown here")}


def test_parked_workers_have_readings_of_their_own() -> None:
    def row(n: int) -> Row:
        made = memory_row("callbacks", n)
        extra = {"parked_uss_bytes": 9_000_000 + 700 * n, "parked_disturbed": None}
        return edited(made, measured=extra)

    found = cost(map(row, SIZES), "parked").user

    assert isinstance(found, Slope)
    assert round(found.per_fetch) == 700
