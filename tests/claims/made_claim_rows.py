"""Rows of the kinds that claims rest on, made from the few values that a test is about."""

from collections.abc import Sequence
from typing import Any

from inflight.bench.rows.crawls import Arm, ArmMeasured
from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from inflight.bench.rows.values import plain_values
from tests.made_rows import MS, NO_TIMELINE, RUN, bare_row, completed, crawl_row, edited, memory_row

SIZES = (1000, 2000, 4000, 7000, 10_000)
_MEANS = {"0": 0, "5ms": 5 * MS, "50ms": 50 * MS, "100ms": 100 * MS, "lognormal 100ms 500ms": 130 * MS}
_BASE = 10_000_000


def idle_rows(
    what: str,
    each_bytes: int,
    *,
    user: float = 1.0,
    sizes: Sequence[int] = SIZES,
    jitter: float = 0.0,
    ps_bytes: int | None = None,
    start_ns: int = MS,
    variables: dict[str, str] | None = None,
    **more: Any,
) -> list[Row]:
    """Make two rounds of a ladder: ``user`` is the share of user memory; the rounds differ by ``jitter`` either way."""
    asked = {"what": what} | ({"variables": variables} if variables else {})
    return [
        bare_row(
            "idle",
            what,
            asked | {"n": n},
            _layers(n, each_bytes * (1 + (jitter if number == 1 else -jitter)), user)
            | {"started": n, "start_ns": start_ns, "cpu_ns": start_ns}
            | {"ps_rss_bytes": _BASE + n * (each_bytes if ps_bytes is None else ps_bytes)},
            number=number,
            **more,
        )
        for number in (1, 2)
        for n in sizes
    ]


def held_rows(
    strategy: str,
    each_bytes: int,
    *,
    sizes: Sequence[int] = SIZES,
    jitter: float = 0.0,
    connection: str = "per-fetch",
    **more: Any,
) -> list[Row]:
    """Make two rounds of memory trials that know every layer; the rounds differ by ``jitter`` either way."""
    return [
        held_row(strategy, n, each_bytes * (1 + (jitter if number == 1 else -jitter)), connection, number, **more)
        for number in (1, 2)
        for n in sizes
    ]


def held_row(
    strategy: str,
    n: int,
    each_bytes: float = 20_000,
    connection: str = "per-fetch",
    number: int = 1,
    *,
    changes: dict[str, Any] | None = None,
    server: dict[str, Any] | None = None,
    site: dict[str, Any] | None = None,
    variables: dict[str, str] | None = None,
    **more: Any,
) -> Row:
    """Make the row of one memory trial."""
    made = memory_row(strategy, n, number=number, connection=connection, **more)
    if made.status != "ok":
        return made
    measured = _layers(n, each_bytes, 0.5) | {"reach_ns": 700 * MS, "listen_drops": 0} | (changes or {})
    arm = {"name": strategy, "strategy": strategy, "role": "compared", "label": strategy, "variables": variables}
    workload = {"site": site or {}} | ({"arm": arm} if variables else {})
    return edited(made, measured=measured, server=server or {}, workload=workload)


def timed_rows(
    strategy: str,
    *values: float,
    latency: str = "0",
    in_flight: int = 100,
    pages: int = 3000,
    read: str = "pages_per_s",
    cpu_per_page_ns: int = 50_000,
    connection: str = "keep-alive",
    gil: bool = True,
    changes: dict[str, Any] | None = None,
    **more: Any,
) -> list[Row]:
    """Make one timed row for each value of what is ``read`` of it, each in a round of its own."""
    found = []
    for number, value in enumerate(values, start=1):
        made = crawl_row(
            strategy,
            in_flight=in_flight,
            number=number,
            pages=pages,
            cpu_per_page_ns=cpu_per_page_ns,
            connection=connection,
            **more,
        )
        workload = {"latency": latency, "mean_latency_ns": _MEANS[latency], "site": {"delay": latency}}
        measured = (
            {"timeline": NO_TIMELINE} | (changes or {}) | {read: round(value) if read.endswith("_ns") else value}
            if made.measured
            else {}
        )
        found.append(edited(made, workload=workload, measured=measured, knobs={"gil": gil}))
    return found


def arm_rows(
    strategy: str,
    *values: float,
    latency: str = "0",
    in_flight: int = 100,
    read: str = "cpu_per_page_ns",
    cell: str | None = None,
    role: str = "compared",
    gil: bool = True,
    cores: int = 1,
    busy_threads: int = 0,
    python: str | None = None,
    variables: dict[str, str] | None = None,
    asked: dict[str, Any] | None = None,
    connection: str = "keep-alive",
    changes: dict[str, Any] | None = None,
    **more: Any,
) -> list[Row]:
    """Make the rows of one arm: one for each value of what is ``read`` of it, each of a block of its own.

    Arms of the same ``cell`` (if none is named: of the same workload) share their blocks.
    """
    timed = timed_rows(
        strategy, *values, latency=latency, in_flight=in_flight, read=read, connection=connection, gil=gil, **more
    )
    arm: dict[str, Any] = {"name": strategy, "strategy": strategy, "role": role, "label": strategy}
    arm |= {"cores": 2} if cores > 1 else {}
    arm |= {"busy_threads": busy_threads} if busy_threads else {}
    arm |= {"python": python} if python else {}
    arm |= {"variables": variables} if variables else {}
    arm |= asked or {}
    found = []
    for row in timed:
        block = f"{cell or (latency, in_flight)}/round={row.round}"
        measured = plain_values(row.measured)
        if measured:
            measured |= {"block": block, "cpu_share": 0.95} | (changes or {})
            measured = completed(measured, Arm.NEEDED["measured"])
        measured = {name: measured[name] for name in measured if name in ArmMeasured.__struct_fields__}
        trial = f"{cell}/{row.trial}/{role}"
        made = changed(
            row, kind="arm", trial=trial, measured=measured, workload=plain_values(row.workload) | {"arm": arm}
        )
        found.append(made)
    return found


def probe_rows(probe: str, arguments: dict[str, Any], *measured: dict[str, Any], **more: Any) -> list[Row]:
    """Make one row of a probe for each of what it measured, each in a round of its own."""
    workload = {"probe": probe, "arguments": arguments}
    return [
        bare_row("probe", probe, workload, arguments | one, number=number, **more)
        for number, one in enumerate(measured, start=1)
    ]


def limit_row(
    resource: str, found: int | None, by: str = "a.limit", *, stopped_by: str = "failure", **measured: Any
) -> Row:
    """Make the row of a limit that was found."""
    said = {
        "predicted": found,
        "predicted_by": by,
        "found": found,
        "bound_by": by if stopped_by == "failure" else None,
        "stopped_by": stopped_by,
        "next": {"name": "the.next", "most": 90_000},
        "remedy": "raise it",
    }
    return bare_row("limit", resource, {"resource": resource, "through_shared": False}, said | measured)


def of_other_run(row: Row, name: str = f"{RUN}-other", started_at: str = "2026-01-03T03:04:05.678+00:00") -> Row:
    """Return the same row as another run has it."""
    return changed(row, run=name, started_at=started_at)


def _layers(n: int, each_bytes: float, user: float) -> dict[str, Any]:
    own, kernel = round(n * each_bytes * user), round(n * each_bytes * (1 - user))
    base = {"uss": _BASE, "rss": _BASE, "page_tables": 50_000, "kernel_stack": 9_000, "slab": 70_000, "socket": 0}
    added = {"uss": own, "rss": own, "kernel_stack": kernel // 2, "slab": kernel - kernel // 2}
    held = {name: size + added.get(name, 0) for name, size in base.items()}
    return (
        {f"base_{name}_bytes": size for name, size in base.items()}
        | {f"held_{name}_bytes": size for name, size in held.items()}
        | {"held_disturbed": None, "held_threads": n}
    )
