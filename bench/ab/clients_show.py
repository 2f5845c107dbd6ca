"""The comparison of several clients of one server: the text of a stored self-test."""

from collections.abc import Mapping, Sequence
from typing import Any

from inflight.bench import units
from inflight.bench.ab.clients import FULL_SHARE, Comparison
from inflight.bench.rows.files import Row
from inflight.bench.show import words
from inflight.bench.show.table import Table

_MS = 1_000_000
_IDEAL = "the expected throughput, in flight / (latency + the client's median time above it),"


def title(found: Comparison) -> str:
    """Return which clients agree with the expected figures, and which are off."""
    verdicts = {one.verdict for one in found.judged} - {"not compared"}
    off = _listed({name for one in found.judged for name in one.who})
    outcome = "no verdict"
    if "all off" in verdicts:
        outcome = "all are off the same way, so the server or the machine is the cause"
    elif off:
        outcome = f"off: {off}"
    elif verdicts == {"agree"}:
        outcome = "all agree within the stated bounds"
    elif "agree" in verdicts:
        judged = [one.verdict for one in found.judged if one.verdict != "not compared"]
        outcome = f"they agree in {judged.count('agree')} of {len(judged)} comparisons; no verdict in the others"
    return f"Clients of one server ({_listed(found.names) or 'without a figure'}): {outcome}"


def _listed(names: Sequence[str] | set[str]) -> str:
    return words.listed([words.name(name) for name in sorted(names)]) if names else ""


# The tables of a self-test, from plain values


def line(row: Row) -> str:
    """Return the progress line for one client's trial of a self-test."""
    latency = words.at_latency(row.workload.latency)
    told = f"{units.number(row.measured.completed_per_s, 3)} requests/s" if row.status == "ok" else row.status
    why = "; ".join(check.name for check in row.failed_checks) or row.reason or ""
    return f"{words.name(row.strategy):<12} {latency:<20} {told}{f'  {words.plain(why, 100)}' if why else ''}"


def tables(found: Mapping[str, Any], ceiling_per_s: float | None) -> list[Table]:
    """Return a table for each latency of a self-test; ``ceiling_per_s`` is the throughput of the null client."""
    return [_latency(one, ceiling_per_s) for one in found["latencies"]]


def _latency(one: Mapping[str, Any], ceiling_per_s: float | None) -> Table:
    """Return the clients at a latency with the verdicts; without added latency, with the null client's throughput."""
    head = f"{units.latency(one['latency'])}, {words.in_flight(one['in_flight'])}"
    if one["ideal_per_s"] is not None:
        head += f", at most {units.number(one['ideal_per_s'], 3)} requests/s"
    elif ceiling_per_s is not None:
        head += f"; a null client: {units.number(ceiling_per_s, 3)} requests/s"
    verdicts = (
        [
            f"Throughput: {_judged(one['per_s'], 100, '%', _IDEAL)}.",
            f"Added latency: {_judged(one['added'], 1 / _MS, 'ms', 'the latency')}.",
        ]
        if one["ideal_per_s"] is not None
        else []
    )
    missing = [
        words.plain(f"{client['name']}: no figure: {client['reason']}", 200).rstrip(".") + "."
        for client in one["clients"]
        if client["per_s"] is None
    ]
    lines = tuple(_client(client, one) for client in one["clients"])
    heads = ("client", "requests/s", "range", "median time", "its core", "server's core", "full core")
    return Table(f"Clients of one server: {head}", heads, lines, (*verdicts, *missing))


def _judged(judged: Mapping[str, Any], factor: float, unit: str, truth: str) -> str:
    """Return the verdict with the largest deviation; ``truth`` names the expected figure."""
    who = f" ({_listed(judged['who'])})" if judged["who"] else ""
    why = f" ({words.plain(judged['why'], 120)})" if judged["why"] else ""
    most = f"bound {units.number(factor * judged['bound'], 1)} {unit}"
    word = "no verdict" if judged["verdict"] == "cannot be told" else str(judged["verdict"])
    verdict = f"{word.upper() if 'off' in word else word}{who}{why}"
    if judged["apart"] is None:
        return verdict
    apart = f"{units.number(factor * judged['apart'], 2)} {unit} ({most})"
    return f"{verdict}; the largest deviation from {truth} is {apart}"


def _client(client: Mapping[str, Any], one: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the line of a client: medians over the rounds, and their range."""
    name = words.name(client["name"])
    if client["per_s"] is None:
        return (name, *"------")
    rate, low, high = (units.number(client["per_s"][key], 3) for key in ("median", "low", "high"))
    sign = "+" if one["mean_latency_ns"] else ""
    added = client["added_ns"]
    shares = [client["client_share"], client["server_share"]]
    full = [side for side, share in zip(("client", "server"), shares, strict=True) if (share or 0) >= FULL_SHARE]
    return (
        name,
        rate,
        low if low == high else f"{low} to {high}",
        "-" if added is None else f"{sign}{added['median'] / _MS:.2f} ms",
        *("-" if share is None else units.percent(share) for share in shares),
        " and ".join(full) or "-",
    )
