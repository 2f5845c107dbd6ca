"""Rows of swarms as the harness writes them: with limits that bind, lost processes, and a million fetches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inflight.bench.rows.files import Check, Row, Status
from inflight.bench.rows.kinds import Swarm
from inflight.fake_server.config import SiteConfig
from tests.made_rows import MS, RUN, make

S = 1_000_000_000
SIZES = (20_000, 40_000, 60_000, 80_000, 100_000)
MOST_EACH = 19_000
"""Fetches of one strategy process."""
PID_MAX = {
    "name": "kernel.pid_max",
    "allows": 29_000,
    "sentence": "kernel.pid_max leaves 29,000 threads; raise it with sysctl kernel.pid_max=131072",
}
KILLED = {
    "what": "strategy process",
    "share": 1,
    "pid": 4321,
    "how": "was killed by signal 9 (SIGKILL)",
    "in_flight": 16_666,
    "at_ns": 4 * S,
}


@dataclass(frozen=True)
class Model:
    """What a fetch of a strategy takes: bytes in each layer, and nanoseconds until it is in flight."""

    user_bytes: int
    tables_bytes: int
    stack_bytes: int
    reach_ns: int
    server_bytes: int = 4_200
    kernel_bytes: int = 8_700


MODELS = {
    "callbacks": Model(1_300, 3, 0, 62_000),
    "generators": Model(2_900, 6, 0, 74_000),
    "native_asyncio": Model(6_700, 14, 0, 171_000),
    "thread_pool": Model(16_400, 4_100, 16_384, 240_000),
}


def swarm_row(
    strategy: str = "callbacks",
    asked: int = 100_000,
    *,
    planned: int | None = None,
    bound_by: dict[str, Any] | None = None,
    ramp_per_s: int | None = None,
    number: int = 1,
    status: Status = "ok",
    reason: str | None = None,
    invalid: str | None = None,
    disturbed: str | None = None,
    lost: Sequence[dict[str, Any]] = (),
    noise: int = 1,
    body_bytes: int = 256,
    model: Model | None = None,
    more: dict[str, Any] | None = None,
) -> Swarm:
    """Make the row of a swarm; ``invalid`` is the name of a check that failed, ``more`` replaces what was measured."""
    cell = f"swarm/in_flight={asked}" + (f"/ramp={ramp_per_s}" if ramp_per_s else "")
    ended = status in {"ok", "wrong"}
    model = model or MODELS.get(strategy, MODELS["callbacks"])
    measured: dict[str, Any] = {}
    if ended:
        measured = _measured(model, planned or asked, number * noise, sum(int(one["in_flight"]) for one in lost))
        measured |= {"bound_by": bound_by, "held_disturbed": disturbed, "lost": list(lost)}
    row = make(
        run=RUN,
        trial=f"{cell}/{strategy}/round={number}",
        round=number,
        strategy=strategy,
        stack="shared",
        kind="swarm",
        workload={
            "id": cell,
            "in_flight": asked,
            "ramp_per_s": ramp_per_s,
            "connection": "keep-alive",
            "site": SiteConfig(pages=asked, links=0, body_bytes=body_bytes).to_dict(),
            "processes": None,
        },
        status=status,
        reason=None if status == "ok" else reason or "for a reason",
        started_at="2026-01-02T03:04:05.678+00:00",
        duration_ns=0 if status == "skipped" else 30 * S,
        measured=measured | (more or {}),
        knobs={"strategy": strategy, "python": "3.11.7", "implementation": "cpython", "gil": True} if ended else {},
        checks=_checks(invalid) if ended else (),
    )
    assert isinstance(row, Swarm)
    return row


def c100k_run(rounds: int = 1) -> list[Row]:
    """Make a run of c100k: three strategies at five sizes, and threads, which a limit stops."""
    rows: list[Row] = []
    for number in range(1, rounds + 1):
        rows += [swarm_row(name, n, number=number) for name in list(MODELS)[:3] for n in SIZES]
        rows += [
            swarm_row("thread_pool", 10_000, number=number),
            swarm_row("thread_pool", 100_000, planned=29_000, bound_by=PID_MAX, number=number),
        ]
    return rows


def lossy_row(strategy: str = "generators", asked: int = 100_000) -> Row:
    """Make the row of a trial in which a strategy process was killed."""
    sentence = "16,666 answers are missing: a strategy process was killed by signal 9 (SIGKILL)"
    return swarm_row(strategy, asked, status="wrong", reason=sentence, invalid="all processes survived", lost=[KILLED])


def _measured(model: Model, planned: int, noise: int, lost: int) -> dict[str, Any]:
    held, processes = planned - lost, -(-planned // MOST_EACH)
    reach_ns, drain_ns = planned * model.reach_ns * (100 + noise) // 100, planned * 55_000
    jitter = 3_000 * (planned // 10_000 * noise % 7 - 3)
    base = {
        "uss_bytes": 14_000_000 * processes,
        "page_tables_bytes": 120_000 * processes,
        "server_uss_bytes": 15_000_000 * processes,
        "server_page_tables_bytes": 130_000 * processes,
        "kernel_stack_bytes": 4_000_000,
        "slab_bytes": 160_000_000,
        "socket_bytes": 8_192,
        "tcp_sockets": 60,
    }
    own = {
        "uss_bytes": model.user_bytes,
        "page_tables_bytes": model.tables_bytes,
        "server_uss_bytes": model.server_bytes,
        "server_page_tables_bytes": 9,
        "kernel_stack_bytes": model.stack_bytes,
        "slab_bytes": model.kernel_bytes,
        "tcp_sockets": 2,
    }
    each = model.user_bytes + model.tables_bytes + model.stack_bytes + model.server_bytes + model.kernel_bytes + 9
    grown = {key: value + own.get(key, 0) * held + (jitter if "uss" in key else 0) for key, value in base.items()}
    return {
        "planned_in_flight": planned,
        "client_processes": processes,
        "server_processes": processes,
        "nodes": 1,
        "held_in_flight": held,
        "reach_ns": None if lost else reach_ns,
        "drain_ns": drain_ns,
        "makespan_ns": reach_ns + 2 * S + drain_ns,
        "timeline": _timeline(planned, held, reach_ns, drain_ns, each),
        **{f"base_{key}": value for key, value in base.items()},
        **{f"held_{key}": value for key, value in grown.items()},
        "pages": planned - lost,
        "failed_pages": lost,
        "errors": {"the strategy process was lost": lost} if lost else {},
        "client_cpu_ns": planned * 90_000,
        "reporting_share": 0.004,
        "locust": {"requests": planned - lost, "failures": lost},
        "listen_drops": 0,
        "steal_share": 0.0,
        "port_refusals": 0,
    }


def _timeline(planned: int, held: int, reach_ns: int, drain_ns: int, each: int) -> dict[str, list[int]]:
    """Make a timeline: up, more slowly towards the end, two seconds at the gate, and down."""
    steps = 40
    up = [(reach_ns * k // steps, round(planned * (1 - (1 - k / steps) ** 1.2))) for k in range(steps + 1)]
    stay = [(reach_ns + 500 * MS * k, held) for k in range(1, 5)]
    down = [(reach_ns + 2 * S + drain_ns * k // 20, held * (20 - k) // 20) for k in range(1, 21)]
    seen = [(at, min(count, held)) for at, count in (*up, *stay, *down)]
    return {
        "at_ns": [at for at, _ in seen],
        "held": [count for _, count in seen],
        "used_bytes": [each * (count if at <= reach_ns + 2 * S else (count + held) // 2) for at, count in seen],
    }


def _checks(invalid: str | None) -> tuple[Check, ...]:
    names = (
        "all in flight, confirmed",
        "answer correct",
        "no unexpected failures",
        "all processes survived",
        "requests counted alike",
        "no listen drops",
        "Locust counted alike",
    )
    return tuple(Check(name, "failed" if name == invalid else "passed", "made") for name in names)
