"""What several independent clients saw of one server: whether they agree, or which of them is off. Pure.

With an added latency L and N requests in flight, a closed loop completes at most N / L a second, whoever drives it. So
clients that have time left must see the same throughput and the same latency, and one of three that does not is the one
that is off. Of two that differ, nobody can say which. A client whose own core is full shows its own ceiling, and is not
compared.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from bench.analyse.stats import Spread, spread
from bench.rows import Row

PER_S_SHARE = 0.03
"""How far throughputs may be apart, as a share. wrk counts from its first connect to the end of its time: in 3 s at
50 ms it sees 59 of 60 turns of the loop, 1.7 % less than there are. A Locust user that was answered sends its next
request when the others that were answered with it have had their turn, which costs Locust about as much. Together with
the rounds' own differences that is what three clients without a fault may be apart."""
ADDED_NS = 1_000_000
"""How far the median times above the added latency may be apart. Answers that are due together are read one after the
other, the last of 50 by a Python client some hundred microseconds after the first; and it is by as much as this that a
server's timers may be late before a trial's latency is called inexact."""
FULL_SHARE = 0.90
"""A client that used so much of its core is limited by it: what is left goes where nobody accounts for it."""

Verdict = Literal["agree", "off", "differ", "cannot be told", "not compared"]


@dataclass(frozen=True, slots=True)
class Client:
    """What one client saw at one latency, over the rounds that are valid."""

    name: str
    per_s: Spread | None
    added_ns: Spread | None
    """The median service time of each round, without the latency that the server added."""
    client_share: float | None
    server_share: float | None
    trials: int
    reason: str | None
    """Why there is no valid round: not installed, failed, red checks. None where there is one."""
    full: bool
    """Whether its own core limited it."""
    per_s_rounds: tuple[float, ...] = ()
    added_ns_rounds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """Whether the clients agree in one figure. ``apart`` is the largest difference, in the unit of the bound."""

    verdict: Verdict
    bound: float
    apart: float | None = None
    who: str | None = None
    """The client that is off."""
    why: str | None = None
    """Why it cannot be told, or why nothing is compared."""


@dataclass(frozen=True, slots=True)
class Latency:
    """All clients at one added latency."""

    latency: str
    mean_latency_ns: int
    in_flight: int
    ideal_per_s: float | None
    """What a loop of so many completes at most; None without added latency."""
    clients: tuple[Client, ...]
    per_s: Judged
    added: Judged


@dataclass(frozen=True, slots=True)
class Comparison:
    """The clients at every latency, the longest first: there all have time."""

    latencies: tuple[Latency, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return asdict(self)


def compare(rows: Sequence[Row]) -> Comparison | None:
    """Compare the clients of one server; None without a row of any."""
    found: dict[tuple[int, str, int], dict[str, list[Row]]] = {}
    for row in rows:
        if row.kind == "client":
            values = row.workload
            where = (values["mean_latency_ns"], values["latency"], values["in_flight"])
            found.setdefault(where, {}).setdefault(row.strategy, []).append(row)
    if not found:
        return None
    ordered = sorted(found.items(), key=lambda item: (-item[0][0], item[0][1:]))
    return Comparison(tuple(_latency(*where, by_name) for where, by_name in ordered))


def _latency(mean_ns: int, latency: str, in_flight: int, by_name: Mapping[str, Sequence[Row]]) -> Latency:
    clients = tuple(_client(name, rows, mean_ns) for name, rows in sorted(by_name.items()))
    ideal = 1e9 * in_flight / mean_ns if mean_ns else None
    if ideal is None:
        alone = "without added latency each client shows its own ceiling, or the server's"
        judged = [Judged("not compared", bound, why=alone) for bound in (PER_S_SHARE, ADDED_NS)]
    else:
        free = [client for client in clients if client.per_s is not None and not client.full]
        rates = {client.name: client.per_s_rounds for client in free if client.per_s_rounds}
        times = {client.name: client.added_ns_rounds for client in free if client.added_ns_rounds}
        judged = [judge(rates, PER_S_SHARE, relative=True), judge(times, ADDED_NS, relative=False)]
    return Latency(latency, mean_ns, in_flight, ideal, clients, *judged)


def _client(name: str, rows: Sequence[Row], mean_ns: int) -> Client:
    valid = [row.measured for row in rows if row.valid]
    rates = tuple(float(one["completed_per_s"]) for one in valid)
    medians = [one["service"].get("p50_ns") for one in valid]
    added = tuple(float(p50 - mean_ns) for p50 in medians if p50 is not None)
    share = _median([one.get("client_cpu_share") for one in valid])
    return Client(
        name,
        spread(rates) if rates else None,
        spread(added) if added else None,
        share,
        _median([one.get("server_cpu_share") for one in valid]),
        len(rows),
        None if valid else _reason(rows[-1]),
        share is not None and share >= FULL_SHARE,
        rates,
        added,
    )


def judge(values: Mapping[str, Sequence[float]], bound: float, *, relative: bool) -> Judged:
    """Judge whether clients agree: ``values`` has those of each client's rounds; ``bound`` is a share, if relative.

    Each client is held against the median of all of them, of two against the other. It is within the bound if its
    median is, and more than half of its rounds; off if no round is, of two or more; else it cannot be told.
    """
    if len(values) < 2:
        return Judged("cannot be told", bound, why="fewer than two clients have a figure to compare")
    medians = {name: statistics.median(own) for name, own in values.items()}
    away = {name: _away(name, own, medians, relative=relative) for name, own in values.items()}
    apart = max((away[name][0] for name in away), key=abs)
    states = {name: _state(middle, each, bound) for name, (middle, each) in away.items()}
    off = [name for name, state in states.items() if state == "off"]
    unsure = [name for name, state in states.items() if state == "unsure"]
    if unsure:
        few = min(len(values[name]) for name in unsure) < 2
        why = "one round is not enough to say who is off" if few else "rounds differ by more than the bound"
        return Judged("cannot be told", bound, apart, why=f"{', '.join(sorted(unsure))}: {why}")
    if len(off) == 1 and len(values) > 2:
        return Judged("off", bound, away[off[0]][0], who=off[0])
    if off:
        why = "of two clients nobody can say which is off" if len(values) == 2 else "no two of them agree"
        return Judged("differ", bound, apart, why=why)
    return Judged("agree", bound, apart)


def _away(
    name: str, rounds: Sequence[float], medians: Mapping[str, float], *, relative: bool
) -> tuple[float, list[float]]:
    """Return how far a client's median and its rounds are from what it is held against."""
    others = [own for other, own in medians.items() if other != name] if len(medians) == 2 else list(medians.values())
    middle = statistics.median(others)
    unit = abs(middle) if relative else 1.0
    return (medians[name] - middle) / unit, [(one - middle) / unit for one in rounds]


def _state(middle: float, rounds: Sequence[float], bound: float) -> Literal["within", "off", "unsure"]:
    inside = sum(abs(one) <= bound for one in rounds)
    if abs(middle) <= bound and inside > len(rounds) / 2:
        return "within"
    return "off" if inside == 0 and len(rounds) > 1 else "unsure"


def _reason(row: Row) -> str:
    """Say why a client has no figure, by its last trial."""
    return row.reason or "; ".join(f"{check.name}: {check.detail}" for check in row.failed_checks)


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
