"""Several clients of one server side by side: what each says that it completed, and how long a request took."""

from collections.abc import Sequence

from bench.core import units
from bench.core.cells import present
from bench.core.figures import Spread, spread
from bench.core.rows import Row
from bench.present import words
from bench.present.table import Group, Line, Table
from bench.studies.clients.read import compare

_HEADS = ("client", "completed /s", "mean time", "p50", "p99", "client's core", "server's core", "trials")
_TIMES = ("mean_ns", "p50_ns", "p99_ns")


def grids(rows: Sequence[Row]) -> list[Table]:
    """Return one table, a group a workload, a line a client; none without such rows."""
    lines: list[Line] = []
    for workload, clients in _by_workload(rows).items():
        lines.append(Group(workload))
        lines += [_line(client, own) for client, own in sorted(clients.items())]
    if not lines:
        return []
    notes = ("Each client alone, of one server, by its own word; medians over the valid trials.",)
    return [Table("Clients of one server, requests/s", _HEADS, tuple(lines), notes)]


def finding(rows: Sequence[Row]) -> str | None:
    """Say how far apart the clients are at the longest added latency, where the latency sets the pace for all."""
    valid = [row for row in rows if row.kind == "client" and row.valid]
    for workload, clients in reversed(_by_workload(valid).items()):
        rates = {name: rate.median for name, own in clients.items() if (rate := _figure(own, "completed_per_s"))}
        if len(rates) > 1 and min(rates.values()) > 0:
            low, high = min(rates.values()), max(rates.values())
            told = words.listed([words.plain(name, 24) for name in sorted(rates)])
            apart = f"within {units.number((high / low - 1) * 100, 2)} % of {units.number(low)} requests/s"
            return f"with {workload}, {_off(valid) or f'{told} complete as many requests, {apart}'}"
    return None


def _off(valid: Sequence[Row]) -> str | None:
    """Say who completes other than the longest added latency lets it; None where that is nobody, or cannot be told."""
    found = compare(valid)
    if found is None or found.latencies[0].per_s.verdict not in {"off", "all off"}:
        return None
    one = found.latencies[0]
    most = f"{units.number(one.ideal_per_s or 0.0)} requests/s that it allows"
    if one.per_s.verdict == "all off":
        return f"all clients are off alike from the {most}: the server or the machine is, not a client"
    who = words.listed([words.plain(name, 24) for name in one.per_s.who])
    return f"{who} {'is' if len(one.per_s.who) == 1 else 'are'} off from the {most}"


def _by_workload(rows: Sequence[Row]) -> dict[str, dict[str, list[Row]]]:
    """Return the rows by workload, the shortest added latency first, and by client."""
    found: dict[str, dict[str, list[Row]]] = {}
    own = [row for row in rows if row.kind == "client"]
    for row in sorted(own, key=lambda row: (row.workload["mean_latency_ns"], row.workload["in_flight"])):
        latency = units.latency(str(row.workload["latency"]))
        told = latency if row.workload["latency"] == "0" else f"{latency} added latency"
        workload = f"{told} and {words.in_flight(row.workload['in_flight'])}"
        found.setdefault(workload, {}).setdefault(row.strategy, []).append(row)
    return found


def _line(client: str, rows: Sequence[Row]) -> tuple[str, ...]:
    valid = [row for row in rows if row.valid]
    shown = valid or [row for row in rows if row.status == "ok"]
    mark = " ✗" if shown and not valid else ""
    rate = _figure(shown, "completed_per_s")
    first = rows[-1].status if not shown else "-" if rate is None else units.number(rate.median, words.digits(rate))
    times = [_spread([_of(row.measured.get("service"), name) for row in shown]) for name in _TIMES]
    shares = [_figure(shown, f"{side}_cpu_share") for side in ("client", "server")]
    red = len(rows) - len(valid)
    return (
        words.plain(client, 18) + mark,
        first,
        *("-" if time is None else units.duration(time.median, words.digits(time)) for time in times),
        *("-" if share is None else f"{100 * share.median:.0f} %" for share in shares),
        f"{red}/{len(rows)} red" if red else f"{len(rows)} ok",
    )


def _figure(rows: Sequence[Row], name: str) -> Spread | None:
    return _spread([row.measured.get(name) for row in rows])


def _of(times: object, name: str) -> float | None:
    return getattr(times, name, None)


def _spread(values: Sequence[float | None]) -> Spread | None:
    known = present(values)
    return spread(known) if known else None
