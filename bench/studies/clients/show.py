"""What a self-test says of the three clients, as text: from ``selftest.json``, so from plain values."""

from collections.abc import Callable, Mapping
from typing import Any

from bench.core import units
from bench.core.rows import Row
from bench.present import words
from bench.studies.clients.read import FULL_SHARE

_MS = 1_000_000
_IDEAL = "N / (L + own time)"
"""What a throughput is held against: N in flight, the latency L, and what the client itself saw beyond it."""


def line(row: Row) -> str:
    """Return what one client's trial brought, while a self-test goes on."""
    latency = words.at_latency(row.workload["latency"])
    told = f"{units.number(row.measured['completed_per_s'], 3)} requests/s" if row.status == "ok" else row.status
    why = "; ".join(check.name for check in row.failed_checks) or row.reason or ""
    return f"{words.plain(row.strategy, 20):<12} {latency:<20} {told}{f'  {words.plain(why, 100)}' if why else ''}"


def text(found: Mapping[str, Any], ceiling_per_s: float | None) -> str:
    """Return the part of a self-test that compares clients; ``ceiling_per_s`` is what the null client found."""
    latencies = found["latencies"]
    numbers = sorted({one["in_flight"] for one in latencies})
    told = words.listed([units.count(number) for number in numbers])
    lines = [f"clients of one server that share no code, {told} in flight: medians over the rounds, and their range"]
    for one in latencies:
        names = [words.plain(client["name"], 20) for client in one["clients"]]
        width = max(map(len, names))
        lines += [f"  {told}" for told in _about(one, ceiling_per_s)]
        lines += [f"    {name:<{width}}  {_client(own, one)}" for name, own in zip(names, one["clients"], strict=True)]
    return "\n".join(lines)


def _about(one: Mapping[str, Any], ceiling_per_s: float | None) -> list[str]:
    """Return the head of a latency, and its verdicts; it says so where only two clients were compared."""
    if one["ideal_per_s"] is None:
        return [f"no added latency: {_highest(one, ceiling_per_s)}"]
    compared = [client for client in one["clients"] if client["per_s"] is not None and not client["full"]]
    few = "; two clients only" if len(compared) == 2 else ""
    return [
        f"{units.latency(one['latency'])}, at most {units.number(one['ideal_per_s'], 3)} requests/s{few}",
        f"  throughput: {_judged(one['per_s'], _share, _IDEAL)}",
        f"  added latency: {_judged(one['added'], _milliseconds, 'L')}",
    ]


def _judged(judged: Mapping[str, Any], write: Callable[[float], str], truth: str) -> str:
    """Say whether clients see what must be; ``truth`` is what they were held against, in a few signs."""
    bound, apart = write(judged["bound"]).replace(".0 ", " "), judged["apart"]
    if judged["verdict"] == "agree":
        return f"all within {bound} of {truth} (at most {write(abs(apart))} away)"
    if judged["verdict"] == "cannot be told":
        return f"cannot be told: {words.plain(str(judged['why']), 120)} (bound {bound})"
    far = f"{write(abs(apart))} {'above' if apart > 0 else 'below'} {truth} (bound {bound})"
    if judged["verdict"] == "all off":
        return f"ALL ARE OFF alike, up to {far}: the server or the machine, not a client"
    who = [words.plain(str(name), 20) for name in judged["who"]]
    return f"{who[0]} IS OFF, {far}" if len(who) == 1 else f"{words.listed(who)} ARE OFF, up to {far}"


def _highest(one: Mapping[str, Any], ceiling_per_s: float | None) -> str:
    """Say what the fastest client proves of the server where nothing else sets the pace."""
    rates = {client["name"]: client["per_s"]["median"] for client in one["clients"] if client["per_s"] is not None}
    if not rates:
        return "no client has a figure"
    name = max(rates, key=lambda name: rates[name])
    told = f"the server answers at least {units.number(rates[name], 3)} requests/s, which {words.plain(name, 20)} got"
    null = "" if ceiling_per_s is None else f" (a null client: {units.number(ceiling_per_s, 3)})"
    return told + null


def _client(client: Mapping[str, Any], one: Mapping[str, Any]) -> str:
    if client["per_s"] is None:
        return words.plain(f"no figure: {client['reason']}", 160)
    rate, added = client["per_s"], client["added_ns"]
    parts = [
        f"{units.number(rate['median'], 3):>7}/s ({units.number(rate['low'], 3)} to {units.number(rate['high'], 3)})"
    ]
    if added is not None:
        sign = "+" if one["mean_latency_ns"] else ""
        parts.append(f"median time {sign}{added['median'] / _MS:.2f} ms")
    parts.append(_whose(client))
    return ", ".join(parts)


def _whose(client: Mapping[str, Any]) -> str:
    """Say how full the cores of client and server were, and whose ceiling that makes it."""
    own, server = client["client_share"], client["server_share"]
    server_full = server is not None and server >= FULL_SHARE
    whose = {
        (True, False): ": its own ceiling, not the server's",
        (False, True): ": the server's ceiling",
        (True, True): ": both are full",
    }.get((client["full"], server_full), "")
    return f"{_core(own)} of its core, {_core(server)} of the server's{whose}"


def _core(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.0f} %"


def _share(value: float) -> str:
    return f"{units.number(100 * value, 2)} %"


def _milliseconds(value: float) -> str:
    return f"{units.number(value / _MS, 2)} ms"
