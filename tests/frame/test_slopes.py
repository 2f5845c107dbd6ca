"""Layers of memory in the frame: what is read of which trial, and slopes of known layers only."""

from typing import Any

import pandas as pd
import pytest

from inflight.bench.frame.frame import trials
from inflight.bench.frame.slopes import FULL, LAYERS, RSS, SERVER, layers, slopes
from inflight.bench.rows.files import Row
from tests.made_rows import crawl_row, edited, held_row, idle_row, memory_row, swarm_row

SIZES = (1000, 2000, 4000, 7000, 10000)
EACH = (16_600, 4_160, 16_384, 7_900)
NO_RSS = {"base_rss_bytes": None, "held_rss_bytes": None}
DISTURBED = {"held_disturbed": "of others: +9 tasks", "held_slab_bytes": 10**12}


def read(*rows: Row) -> pd.DataFrame:
    return layers(trials(rows))


def one(row: Row, group: str, layer: str) -> dict[str, Any]:
    """Return what is read of one layer of a row."""
    found = read(row)
    return dict(found[(found["group"] == group) & (found["layer"] == layer)].iloc[0])


def fitted(*rows: Row) -> dict[str, Any]:
    """Return the slope of each layer, or why there is none."""
    found = slopes(read(*rows))
    return {
        layer: reason or round(estimate)
        for layer, reason, estimate in zip(found["layer"], found["reason"], found["estimate"], strict=True)
    }


def test_each_layer_has_its_slope_and_all_together_have_theirs() -> None:
    found = fitted(*(idle_row(n=n, each=EACH) for n in SIZES))

    assert found == dict(zip(LAYERS, EACH, strict=True)) | {FULL: sum(EACH), RSS: EACH[0]}


@pytest.mark.parametrize(
    ("row", "group", "layer", "n", "size", "added"),
    [
        (idle_row(n=7, each=EACH), "idle", "user", 7, 14_400_000 + 7 * 16_600, 7 * 16_600),
        (idle_row(n=7, each=EACH), "idle", "kernel stacks", 7, 7 * 16_384, 7 * 16_384),
        (held_row(n=100, each=EACH), "held", "user", 100, 14_400_000 + 100 * 16_600, 100 * 16_600),
        (held_row(n=100, parked=(700, 0, 0, 0)), "parked", "user", 100, 14_400_000 + 100 * 700, 100 * 700),
        (memory_row(held=100, uss_bytes=9), "held", "user", 100, 9, None),
        (edited(idle_row(n=7, each=EACH), measured=DISTURBED), "idle", "user", 7, 14_400_000 + 7 * 16_600, 7 * 16_600),
        (edited(idle_row(n=7, each=EACH), measured=DISTURBED), "idle", "slab and sockets", 7, None, None),
        (edited(idle_row(n=7, each=EACH), measured=DISTURBED), "idle", FULL, 7, None, None),
        (swarm_row(asked=10_000, measured=NO_RSS), "swarm", RSS, 10_000, None, None),
    ],
)
def test_system_wide_layers_are_growth_and_unknown_where_others_disturbed_them(
    row: Row, group: str, layer: str, n: int, size: int | None, added: int | None
) -> None:
    found = one(row, group, layer)

    assert found["n"] == n
    assert [None if pd.isna(found[key]) else found[key] for key in ("size", "added")] == [size, added]


def test_the_growth_of_a_swarm_has_both_ends_in_it() -> None:
    row: Any = swarm_row()
    servers = ("server_uss", "server_page_tables")
    grown = {
        layer: getattr(row.measured, f"held_{layer}_bytes") - getattr(row.measured, f"base_{layer}_bytes")
        for layer in (*servers, "uss", "page_tables", "kernel_stack", "slab", "socket")
    }
    ends = {SERVER: sum(grown[layer] for layer in servers), FULL: sum(grown.values())}

    assert {name: one(row, "swarm", name)["size"] for name in ends} == ends


def test_unknown_layers_invalid_trials_and_few_sizes_have_no_slope() -> None:
    unknown = fitted(*(idle_row(n=n, unknown=("slab_bytes",)) for n in SIZES))
    invalid = fitted(*(idle_row(n=n, invalid=n == 1000) for n in SIZES))

    assert (unknown["slab and sockets"], unknown[FULL], unknown["user"]) == ("unknown here", "unknown here", 16_460)
    assert set(invalid.values()) == {"needs 5 different numbers in flight, has 4"}
    assert fitted(crawl_row(), idle_row(status="failed")) == {}


def test_n_is_what_a_client_with_a_limit_of_its_own_reached() -> None:
    asked = edited(held_row(n=500, each=EACH), workload={"in_flight": 1000}, measured={"reached_in_flight": 500})
    rows = [*(held_row(n=n, each=EACH) for n in (100, 200, 300, 400)), asked]

    found = slopes(read(*rows))

    assert set(trials(rows)["arm"]) == {"callbacks", "callbacks (500 of 1,000)"}
    assert set(found["arm"]) == {"callbacks"}
    assert set(found["sizes"]) == {5}
    assert fitted(*rows)["user"] == EACH[0]
