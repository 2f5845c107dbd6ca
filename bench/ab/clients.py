"""Compare several independent clients of one server with the expected figures, and tell which client is off. Pure.

With an added latency L and N requests in flight, a closed loop completes at most N / L per second, and no request takes
less than L. So the figures of a client with spare CPU time are known beforehand. Each client is compared with these,
not with the other clients: two clients with the same fault do not outvote the third. If all are off the same way, the
server or the machine is the cause. A client whose own core is full shows its own ceiling and is not compared.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from inflight.bench.rows.bare import Client as ClientRow
from inflight.bench.rows.files import Row
from inflight.bench.rows.values import alike

PER_S_SHARE = 0.03
"""Maximum deviation of a throughput from the expected one, as a share. wrk counts from its first connect to the end of
its time: in 3 s at 50 ms it counts 59 of 60 turns of the loop, 1.7 % too few. A Locust user sends its next request
after the other users that were answered at the same time, which costs Locust about as much. The rest of the bound is
for the differences between rounds."""
ADDED_NS = 1_000_000
"""Maximum deviation of a median time from the added latency. Answers that are due together are read one by one, so a
Python client reads the last of 50 some hundred microseconds after the first. The server's timers may be late by this
much before the check of the latency fails. As this is a notable share of 10 ms, the expected throughput allows for it:
N / (L + what the client measured beyond L, at most this)."""
FULL_SHARE = 0.90
"""Minimum share of its core at which a client counts as limited by it. The rest is CPU time that is not accounted."""

Verdict = Literal["agree", "off", "all off", "cannot be told", "not compared"]


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, minimum and maximum over the rounds, and the number of rounds."""

    median: float
    low: float
    high: float
    rounds: int


def spread(values: Sequence[float]) -> Spread:
    """Return the median and the range of at least one value."""
    return Spread(statistics.median(values), min(values), max(values), len(values))


def present(values: Iterable[float | None]) -> list[float]:
    """Return the values that are not None."""
    return [value for value in values if value is not None]


@dataclass(frozen=True, slots=True)
class Client:
    """The figures of one client at one latency, over the valid rounds."""

    name: str
    per_s: Spread | None
    added_ns: Spread | None
    """The median service time beyond the added latency."""
    client_share: float | None
    server_share: float | None
    trials: int
    reason: str | None
    """Why there is no valid round: not installed, failed, or invalid. None where there is one."""
    full: bool
    """Whether its own core limited it."""
    ideal_per_s: float | None = None
    """The expected throughput, from the times that the client measured; None without added latency."""
    per_s_away: tuple[float, ...] = ()
    """The deviation of each round's throughput from it, as a share; empty without added latency."""
    added_ns_rounds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one figure of all clients. ``apart`` is in the unit of ``bound``.

    ``agree``: all clients are as expected. ``off``: those in ``who`` are not, and others are. ``all off``: none is, and
    all are off the same way.
    """

    verdict: Verdict
    bound: float
    apart: float | None = None
    """The largest deviation, of the clients that are off if there are any."""
    who: tuple[str, ...] = ()
    """The clients that are off."""
    why: str | None = None
    """Why there is no verdict, or why nothing is compared."""


@dataclass(frozen=True, slots=True)
class Latency:
    """All clients at one added latency."""

    latency: str
    mean_latency_ns: int
    in_flight: int
    ideal_per_s: float | None
    """Maximum throughput of a loop of this size; None without added latency."""
    clients: tuple[Client, ...]
    per_s: Judged
    added: Judged


@dataclass(frozen=True, slots=True)
class Comparison:
    """The clients at every latency, the longest latency first, where all clients have spare CPU time."""

    latencies: tuple[Latency, ...]

    @property
    def names(self) -> list[str]:
        """The clients that have a figure at any latency."""
        return sorted({client.name for one in self.latencies for client in one.clients if client.per_s})

    @property
    def judged(self) -> list[Judged]:
        """The verdicts on throughput and on added time, at every latency."""
        return [judged for one in self.latencies for judged in (one.per_s, one.added)]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return asdict(self)


Asked = tuple[int, str, int, str]
"""Mean latency (ns), latency, number in flight, and the identity of the workload."""


def by_workload(rows: Sequence[Row]) -> dict[Asked, dict[str, list[ClientRow]]]:
    """Return the rows of clients by workload, the longest added latency first, then by name."""
    found: dict[Asked, dict[str, list[ClientRow]]] = {}
    for row in rows:
        if isinstance(row, ClientRow):
            values = row.workload
            what = (values.mean_latency_ns, values.latency, values.in_flight)
            found.setdefault((*what, alike(values)), {}).setdefault(row.strategy, []).append(row)
    ordered = sorted(found.items(), key=lambda item: (-item[0][0], item[0][1:]))
    return {asked: dict(sorted(own.items())) for asked, own in ordered}


def compare(rows: Sequence[Row]) -> Comparison | None:
    """Compare the clients of one server; return None without a row of any client."""
    found = by_workload(rows)
    return Comparison(tuple(_latency(*asked[:3], own) for asked, own in found.items())) if found else None


def _latency(mean_ns: int, latency: str, in_flight: int, by_name: Mapping[str, Sequence[ClientRow]]) -> Latency:
    clients = tuple(_client(name, rows, mean_ns, in_flight) for name, rows in by_name.items())
    if not mean_ns:
        alone = "without added latency each client shows its own ceiling or that of the server"
        judged = [Judged("not compared", bound, why=alone) for bound in (PER_S_SHARE, ADDED_NS)]
        return Latency(latency, mean_ns, in_flight, None, clients, *judged)
    free = [client for client in clients if client.per_s is not None and not client.full]
    rates = {client.name: client.per_s_away for client in free if client.per_s_away}
    times = {client.name: client.added_ns_rounds for client in free if client.added_ns_rounds}
    judged = [judge(rates, PER_S_SHARE), judge(times, ADDED_NS)]
    return Latency(latency, mean_ns, in_flight, 1e9 * in_flight / mean_ns, clients, *judged)


def _client(name: str, rows: Sequence[ClientRow], mean_ns: int, in_flight: int) -> Client:
    valid = [row.measured for row in rows if row.valid]
    rates = present(one.completed_per_s for one in valid)
    added = [
        None if (p50 := one.service.p50_ns if one.service else None) is None else float(p50 - mean_ns) for one in valid
    ]
    known = present(added)
    ideals = [_ideal_per_s(mean_ns, in_flight, own) for own in added] if mean_ns else []
    share = _median(one.client_cpu_share for one in valid)
    return Client(
        name,
        spread(rates) if rates else None,
        spread(known) if known else None,
        share,
        _median(one.server_cpu_share for one in valid),
        len(rows),
        None if valid else _reason(rows[-1]),
        share is not None and share >= FULL_SHARE,
        _median(ideals),
        tuple(rate / ideal - 1 for rate, ideal in zip(rates, ideals, strict=False)),
        tuple(known),
    )


def _ideal_per_s(mean_ns: int, in_flight: int, added_ns: float | None) -> float:
    """Return the expected throughput: requests take the latency plus the time that the client measured beyond it.

    That time counts only up to the bound, so that a client's slow clock does not excuse a low throughput.
    """
    return 1e9 * in_flight / (mean_ns + min(max(added_ns or 0.0, 0.0), ADDED_NS))


def judge(away: Mapping[str, Sequence[float]], bound: float) -> Judged:
    """Judge clients by the deviation of each of their rounds from the expected figure; ``bound`` is in the same unit.

    A client is within the bound if its median is and more than half of its rounds are. It is off if it has two rounds
    or more and none is within the bound. Otherwise there is no verdict. If no client is within the bound and all are
    off the same way, the verdict is ``all off``.
    """
    if len(away) < 2:
        return Judged("cannot be told", bound, why="fewer than two clients have a figure to compare")
    medians = {name: statistics.median(own) for name, own in away.items()}
    states = {name: _state(medians[name], own, bound) for name, own in away.items()}
    off = tuple(sorted(name for name, state in states.items() if state == "off"))
    unsure = sorted(name for name, state in states.items() if state == "unsure")
    apart = max((medians[name] for name in off or medians), key=abs)
    if off and "within" in states.values():
        return Judged("off", bound, apart, who=off)
    if unsure:
        few = min(len(away[name]) for name in unsure) < 2
        why = "one round is not enough for a verdict" if few else "rounds differ by more than the bound"
        return Judged("cannot be told", bound, max(medians.values(), key=abs), why=f"{', '.join(unsure)}: {why}")
    if not off:
        return Judged("agree", bound, apart)
    is_alike = len({medians[name] > 0 for name in off}) == 1
    return Judged("all off", bound, apart) if is_alike else Judged("off", bound, apart, who=off)


def _state(middle: float, rounds: Sequence[float], bound: float) -> Literal["within", "off", "unsure"]:
    inside = sum(abs(one) <= bound for one in rounds)
    if abs(middle) <= bound and inside > len(rounds) / 2:
        return "within"
    return "off" if inside == 0 and len(rounds) > 1 else "unsure"


def _reason(row: Row) -> str:
    """Return why a client has no figure, from its last trial."""
    return row.reason or "; ".join(f'failed "{check.name}": {check.detail}' for check in row.failed_checks)


def _median(values: Iterable[float | None]) -> float | None:
    known = present(values)
    return statistics.median(known) if known else None
