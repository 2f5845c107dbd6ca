"""Rows of blocks, layered memory and limits as the harness writes them, from the few values that a test is about."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from inflight.bench.rows.files import Row, Status
from inflight.bench.rows.kinds import NEEDED_BY_PROBE
from inflight.bench.rows.records import changed
from tests.made_rows import MS, completed, memory_row

PARKED: dict[str, tuple[int, int, int, int]] = {
    "thread": (16_460, 4_154, 16_384, 7_820),
    "generator": (460, 1, 0, 0),
    "generator_task": (650, 1, 0, 0),
    "asyncio_task": (1_150, 2, 0, 0),
    "asyncio_task_socket": (2_900, 6, 0, 8_700),
    "asyncio_task_stream": (4_600, 9, 0, 8_600),
}
"""Bytes each of user memory, page tables, kernel stacks, slab and sockets: what a first look found."""
IN_FLIGHT: dict[str, tuple[int, int, int, int]] = {
    "thread_pool": (20_800, 4_280, 16_384, 15_700),
    "callbacks": (400, 1, 0, 8_300),
    "generators": (1_750, 3, 0, 8_900),
    "native_asyncio": (4_850, 10, 0, 8_600),
    "aiohttp_client": (10_100, 20, 0, 7_500),
}
REACH_MS = {
    "thread_pool": 4_400,
    "callbacks": 900,
    "generators": 1_050,
    "native_asyncio": 2_100,
    "aiohttp_client": 2_700,
}
_BASE = {"uss_bytes": 14_400_000, "rss_bytes": 24_800_000, "pss_bytes": 17_000_000, "page_tables_bytes": 102_400}
_BASE_SYSTEM = {"kernel_stack_bytes": 1_638_400, "slab_bytes": 239_600_000, "socket_bytes": 0}


def stage(name: str, n: int, each: Sequence[int], jitter: int = 0) -> dict[str, Any]:
    """Return the figures of one stage: each layer grown by so much for each of N."""
    user, tables, stacks, slab = (n * one for one in each)
    own = [_BASE["uss_bytes"] + user + jitter, _BASE["rss_bytes"] + user + jitter, _BASE["pss_bytes"] + user + jitter]
    found = dict(zip(_BASE, [*own, _BASE["page_tables_bytes"] + tables], strict=True))
    system = [stacks, slab + jitter // 2, 0]
    return {
        f"{name}_{key}": value
        for key, value in (
            *found.items(),
            *((key, _BASE_SYSTEM[key] + more) for key, more in zip(_BASE_SYSTEM, system, strict=True)),
        )
    }


def idle_row(
    what: str = "thread",
    n: int = 1000,
    each: Sequence[int] | None = None,
    *,
    number: int = 1,
    invalid: bool = False,
    jitter: int = 0,
    unknown: Sequence[str] = (),
    status: Status = "ok",
) -> Row:
    """Make the row of N idle threads or tasks; ``unknown`` layers are null, as where the system does not tell."""
    costs = PARKED.get(what, (1000, 0, 0, 0)) if each is None else each
    measured = {
        **stage("base", 0, (0, 0, 0, 0)),
        **stage("held", n, costs, jitter),
        "started": n,
        "start_ns": n * 60_000,
        "ps_rss_bytes": _BASE["rss_bytes"] + n * costs[0] + jitter,
    }
    ended = status == "ok"
    return changed(
        memory_row(what, n, invalid=invalid, status=status, number=number),
        kind="idle",
        stack="none",
        trial=f"idle/{what}/n={n}/round={number}",
        workload={"id": f"idle/{what}/n={n}", "what": what, "n": n},
        measured=(measured | {key: None for key in measured if key.partition("_")[2] in unknown}) if ended else {},
        server={},
    )


def held_row(
    strategy: str = "callbacks",
    n: int = 10_000,
    each: Sequence[int] | None = None,
    *,
    number: int = 1,
    invalid: bool = False,
    jitter: int = 0,
    stack: str = "shared",
    connection: str = "keep-alive",
    parked: Sequence[int] | None = None,
    reach_ms: int = 1000,
    status: Status = "ok",
    reason: str | None = None,
    unknown: Sequence[str] = (),
) -> Row:
    """Make the row of a memory trial in layers, with the way to N and back in its timeline."""
    row = memory_row(
        strategy, n, invalid=invalid, stack=stack, connection=connection, number=number, status=status, reason=reason
    )
    if status != "ok":
        return row
    costs = IN_FLIGHT.get(strategy, (1000, 2, 0, 8000)) if each is None else each
    plateau_ms, drain_ms = 300, reach_ms // 3
    rising = [min(n, n * ms // max(10, int(reach_ms * 0.95))) for ms in range(0, reach_ms, 10)]
    falling = [n - n * ms // drain_ms for ms in range(0, drain_ms, 10)]
    in_flight = [*rising, *[n] * (plateau_ms // 10), *falling]
    completions = [*[0] * (len(in_flight) - len(falling)), *[n // max(1, len(falling))] * len(falling)]
    measured = {
        **msgspec.to_builtins(row.measured),
        **stage("base", 0, (0, 0, 0, 0)),
        **stage("held", n, costs, jitter),
        **({} if parked is None else stage("parked", n, parked, jitter)),
        "reach_ns": reach_ms * MS,
        "reach_cpu_ns": reach_ms * MS * 8 // 10,
        "drain_ns": drain_ms * MS,
        "makespan_ns": (reach_ms + plateau_ms + drain_ms) * MS,
        "listen_drops": 0,
        "timeline": {"bin_ns": 10 * MS, "completions": completions, "in_flight": in_flight},
    }
    return changed(row, measured=measured | {key: None for key in measured if key.partition("_")[2] in unknown})


def ladder(
    costs: Mapping[str, Sequence[int]], numbers: Sequence[int], *, rounds: int = 2, seed: int = 1, noise: int = 40_000
) -> list[Row]:
    """Make the rows of blocks over several N, each a little off the line."""
    random = Random(seed)
    return [
        idle_row(what, n, each, number=number, jitter=random.randrange(-noise, noise))
        for what, each in costs.items()
        for n in numbers
        for number in range(1, rounds + 1)
    ]


def memory_run(rounds: int = 2) -> list[Row]:
    """Make a whole run of ``memory``: blocks over their numbers, and every strategy in flight and parked."""
    random = Random(7)
    small = {name: PARKED[name] for name in ("generator", "generator_task", "asyncio_task")}
    rows = ladder({"thread": PARKED["thread"]}, (1000, 2000, 4000, 7000, 10_000), rounds=rounds)
    rows += ladder(small, (50_000, 100_000, 200_000, 300_000, 500_000, 1_000_000), rounds=rounds)
    rows += ladder(
        {name: PARKED[name] for name in ("asyncio_task_socket", "asyncio_task_stream")},
        (2000, 4000, 6000, 8000, 10_000),
        rounds=rounds,
    )
    for strategy, each in IN_FLIGHT.items():
        rows += [
            held_row(
                strategy,
                n,
                each,
                number=number,
                jitter=random.randrange(-60_000, 60_000),
                connection="per-fetch",
                stack="own" if strategy == "aiohttp_client" else "shared",
                parked=(each[0] * 8 // 10, each[1], each[2], 900),
                reach_ms=REACH_MS[strategy] * n // 10_000,
            )
            for n in (2000, 4000, 6000, 8000, 10_000)
            for number in range(1, rounds + 1)
        ]
    return rows


def c10k_run(rounds: int = 2, strategies: Sequence[str] = tuple(IN_FLIGHT)) -> list[Row]:
    """Make a whole run of ``c10k``: 10,000 in flight, over connections that are kept and that are not."""
    random = Random(3)
    return [
        held_row(
            strategy,
            number=number,
            connection=connection,
            stack="own" if strategy == "aiohttp_client" else "shared",
            jitter=random.randrange(-60_000, 60_000),
            reach_ms=REACH_MS.get(strategy, 1500)
            + random.randrange(0, 200)
            + (300 if connection == "per-fetch" else 0),
        )
        for strategy in strategies
        for connection in ("keep-alive", "per-fetch")
        for number in range(1, rounds + 1)
    ]


def limit_row(
    resource: str = "threads", *, number: int = 1, invalid: bool = False, status: Status = "ok", **measured: Any
) -> Row:
    """Make the row of a limit that was looked for; by default, threads that ran into vm.max_map_count."""
    found = {
        "predicted": 21_790,
        "predicted_by": "vm.max_map_count",
        "found": 21_835,
        "bound_by": "vm.max_map_count",
        "stopped_by": "failure",
        "ceilings": [
            ceiling("vm.max_map_count", 21_790, shared=False),
            ceiling("kernel.pid_max", 32_448, shared=True),
            ceiling("kernel.threads-max", 192_331, shared=True),
        ],
        "evidence": ["65,530 lines in its maps: vm.max_map_count is 65,530"],
        "next": {"name": "kernel.pid_max", "most": 32_448},
        "remedy": "sysctl vm.max_map_count=262144",
        "timeline": [[ns * 4 * MS, ns * 21_835 // 500] for ns in range(501)],
    } | measured
    return changed(
        memory_row(resource, number=number, status=status, invalid=invalid),
        kind="limit",
        stack="none",
        trial=f"limit/{resource}/round={number}",
        workload={"id": f"limit/{resource}", "resource": resource, "through_shared": False},
        measured=found if status == "ok" else {},
        server={},
        knobs={},
    )


def ceiling(name: str, most: int, *, shared: bool) -> dict[str, Any]:
    """Make one limit among those that might bind."""
    return {"name": name, "most": most, "shared": shared, "evidence": f"{name} is {most}", "remedy": f"raise {name}"}


def probe_row(probe: str = "spin", number: int = 1, **measured: Any) -> Row:
    """Make the row of a probe."""
    return changed(
        memory_row(probe, number=number),
        kind="probe",
        stack="none",
        trial=f"probe/{probe}/how=spin/round={number}",
        workload={"id": f"probe/{probe}/how=spin", "probe": probe, "arguments": {"how": "spin"}},
        measured=completed(measured or {"cpu_ns": 900 * MS, "wall_ns": 1000 * MS}, NEEDED_BY_PROBE[probe]),
        server={},
    )
