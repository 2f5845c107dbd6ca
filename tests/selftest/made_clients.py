"""Rows of clients, which stored self-tests have, made from the few values that a test is about."""

from collections.abc import Mapping, Sequence

from inflight.bench.rows.files import Check, Row, Status
from inflight.fake_server.delays import parse_delay
from inflight.fake_server.site import SiteConfig
from tests.made_rows import MS, RUN, make


def client_row(
    name: str,
    per_s: float = 990.0,
    *,
    latency: str = "50ms",
    number: int = 1,
    added_ns: int = 400_000,
    client_share: float = 0.1,
    server_share: float = 0.05,
    failed: int = 0,
    status: Status = "ok",
    reason: str | None = None,
) -> Row:
    """Make the row of one client's trial; ``number`` is its round."""
    mean_ns = round(parse_delay(latency).mean_ns)
    cell, p50_ns = f"client/latency={latency}/in_flight=50", mean_ns + added_ns
    measured = {
        "requests": 3000,
        "completed": 2950,
        "failed": failed,
        "errors": {"socket: read": failed} if failed else {},
        "completed_per_s": per_s,
        "service": {
            "count": 2950,
            "mean_ns": p50_ns,
            "p50_ns": p50_ns,
            "p90_ns": p50_ns,
            "p99_ns": p50_ns + MS,
            "max_ns": p50_ns + MS,
        },
        "client_cpu_share": client_share,
        "server_cpu_share": server_share,
        "server_requests": 3000,
        "listen_drops": 0,
        "steal_share": 0.0,
    }
    ended = status == "ok"
    return make(
        run=RUN,
        trial=f"{cell}/{name}/round={number}",
        round=number,
        strategy=name,
        stack="shared" if name == "callbacks" else "own",
        kind="client",
        workload={
            "id": cell,
            "in_flight": 50,
            "seconds": 3,
            "latency": latency,
            "mean_latency_ns": mean_ns,
            "site": SiteConfig(links=0, delay=latency).to_dict(),
        },
        status=status,
        reason=reason,
        started_at="2026-01-02T03:04:05.000+00:00",
        duration_ns=3_000_000_000 if ended else 0,
        measured=measured if ended else {},
        checks=(Check("no unexpected failures", "failed" if failed else "passed", "made"),) if ended else (),
    )


def client_rows(rates: Mapping[str, Sequence[float]], latency: str = "50ms", **values: float) -> list[Row]:
    """Make a row of each round of each client, with the same further values."""
    return [
        client_row(name, per_s, latency=latency, number=number, **values)  # type: ignore[arg-type]
        for name, own in rates.items()
        for number, per_s in enumerate(own, start=1)
    ]
