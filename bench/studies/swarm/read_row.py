"""One row of a swarm: what was added in each layer, which limit bound, who was lost or late, its time line. Pure.

Layers are told as what was added since before the order: the number of processes grows with the number in flight, and
what an idle process takes is no part of what a fetch costs. The system's layers are unknown in a row that others
disturbed; an unknown layer is never nothing.
"""

from dataclasses import dataclass
from typing import Any

from bench.core import units
from bench.core.rows import Row

LAYERS = ("client user", "client page tables", "kernel stacks", "slab and sockets", "server")
"""From what the strategy makes, over what the kernel has for both ends, to the server processes' own."""
KERNEL = LAYERS[1:4]
_KEYS = {
    "client user": ("uss_bytes",),
    "client page tables": ("page_tables_bytes",),
    "kernel stacks": ("kernel_stack_bytes",),
    "slab and sockets": ("slab_bytes", "socket_bytes"),
    "server": ("server_uss_bytes", "server_page_tables_bytes"),
}
_OF_SYSTEM = frozenset({"kernel stacks", "slab and sockets"})
_LINES = ("at_ns", "held", "used_bytes")
_IN_LINES = frozenset({int, type(None)})


@dataclass(frozen=True, slots=True)
class Bound:
    """The limit of the machine that stopped a swarm below what was asked for."""

    name: str
    allows: int | None
    sentence: str


def held(row: Row) -> int:
    """Return how many fetches the gates confirmed."""
    return int(row.measured.get("held_in_flight") or 0)


def reach_ns(row: Row) -> int | None:
    """Return how long it took until the gates held all; None when they never did."""
    found: int | None = row.measured.get("reach_ns")
    return found


def reach_per_s(row: Row) -> float | None:
    """Return how many fetches came into flight each second, on the way to all of them."""
    took = reach_ns(row)
    return held(row) / took * 1e9 if took else None


def added_bytes(row: Row, layer: str) -> int | None:
    """Return what was added to a layer between the order and when all were held; None when unknown."""
    if layer in _OF_SYSTEM and row.measured.get("held_disturbed") is not None:
        return None
    changes = [_change(row, key) for key in _KEYS[layer]]
    return None if None in changes else sum(change for change in changes if change is not None)


def all_added_bytes(row: Row) -> int | None:
    """Return what was added in all layers; None when one of them is unknown."""
    sizes = [added_bytes(row, layer) for layer in LAYERS]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def bound_by(row: Row) -> Bound | None:
    """Return which limit stopped a trial below what was asked for."""
    found = row.measured.get("bound_by")
    return None if found is None else Bound(found.name, found.allows, found.sentence)


def lost(row: Row) -> list[str]:
    """Say of each process that did not live to the end which it was, how it ended and when."""
    return [_lost(one) for one in _listed(row, "lost")]


def late(row: Row) -> list[str]:
    """Say of each Locust worker that was late who it was, and when it came."""
    return [f"{_what(one)} {one.get('name') or 'without a name'} came late{_when(one)}" for one in _listed(row, "late")]


def timeline(row: Row) -> list[tuple[int, int, int | None]]:
    """Return (nanoseconds since the order, fetches held, bytes that the system has lost), in order; empty where none.

    The bytes may be unknown. A time line that is not made of lists as long as each other is none.
    """
    line = row.measured.get("timeline")
    if line is None:
        return []
    return sorted(zip(line.at_ns, line.held, line.used_bytes, strict=True), key=lambda seen: seen[0])


def released_ns(row: Row) -> int | None:
    """Return when, since the order, the gates let go; None where that is not known."""
    makespan, drain = row.measured.get("makespan_ns"), row.measured.get("drain_ns")
    return None if makespan is None or drain is None else max(reach_ns(row) or 0, makespan - drain)


def _lost(one: dict[str, Any]) -> str:
    share, pid = one.get("share"), one.get("pid")
    which = "".join([f" of share {share}" if share is not None else "", f" (pid {pid})" if pid is not None else ""])
    held_then = one.get("in_flight")
    had = f", with {units.count(held_then)} in flight" if isinstance(held_then, int) and held_then else ""
    return f"{_what(one)}{which} {one.get('how') or 'was lost'}{_when(one)}{had}"


def _what(one: dict[str, Any]) -> str:
    return str(one.get("what") or "process")


def _when(one: dict[str, Any]) -> str:
    at_ns = one.get("at_ns")
    return f", {units.duration(at_ns, 2)} after the order" if isinstance(at_ns, int) and at_ns > 0 else ""


def _listed(row: Row, key: str) -> list[dict[str, Any]]:
    return row.measured.get(key) or []


def _change(row: Row, key: str) -> int | None:
    before, after = row.measured.get(f"base_{key}"), row.measured.get(f"held_{key}")
    return None if before is None or after is None else after - before


def taken_bytes(row: Row) -> int | None:
    """Return how much more the system as a whole used; None when unknown, or when others disturbed it."""
    change = None if row.measured.get("held_disturbed") is not None else _change(row, "unused_bytes")
    return None if change is None else -change
