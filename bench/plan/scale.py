"""Cells beyond one process: the tables of swarms and open loops, and the cells of clients.

- A **swarm** is one strategy in many processes, controlled by Locust, with all its fetches in flight at once.
- An **open** loop starts requests at a constant rate, independent of the answers.
- A **client** is one of several programs that use the same server. Only ``inflight selftest`` compares them.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from inflight.bench.plan import judge
from inflight.bench.plan.bare import Bare, BareGrid, BareKind
from inflight.fake_server.delays import parse_delay, parse_duration_ns
from inflight.fake_server.site import SiteConfig

KINDS: tuple[BareKind, ...] = ("swarm", "open")
MOST_IN_FLIGHT = 10_000_000
MOST_PROCESSES = 10_000
MOST_RATE = 100_000
MOST_OPEN_SECONDS = 3600
MOST_USERS = 20_000
MOST_HOLD_NS = 3_600_000_000_000
SWARM_BODY_BYTES = 256
"""Default body size in swarms. Pages are small, because a swarm measures waiting fetches, not the transfer of bytes."""

_SWARM_NS, _SWARM_EACH_NS = 10_000_000_000, 150_000
_AROUND_NS = 3_000_000_000
_ONLY_PAGES = {"links": 0, "redirects": 0.0, "missing": 0.0, "faults": {}}
"""Values of each swarm's site: each fetch in flight is one page with status 200 and without links."""


def parse(kind: BareKind, table: Any, common_site: Any, strategies: Iterable[str], where: str) -> BareGrid:
    """Parse a [[swarm]] or an [[open]] table. Raises ExperimentError, also for a target on another machine."""
    judge.need(isinstance(table, dict), f"{where} must be a table")
    own_site = table.get("site", {})
    judge.need(isinstance(common_site, dict) and isinstance(own_site, dict), f"{where}: site must be a table")
    if kind == "swarm":
        return _swarms(table, common_site | own_site, tuple(strategies), where)
    if "target" in table:
        judge.need(
            is_loopback(_host(table["target"], f"{where}: target")),
            f"{where}: target {table['target']!r} is not on this machine's loopback; "
            "only `inflight open-loop --not-loopback` asks others, with the permission of whoever owns that host",
        )
    return open_loops(table, where, common_site)


def open_loops(table: Mapping[str, Any], where: str, common_site: Mapping[str, Any] | None = None) -> BareGrid:
    """Parse an [[open]] table, whose target may be any host. Raises ExperimentError."""
    judge.check_keys(table, ("rates", "latency", "seconds", "users", "target", "rounds", "site"), where)
    rates = _rates(table.get("rates"), f"{where}: rates")
    duration = judge.seconds(table.get("seconds", 10), f"{where}: seconds") or 0.0
    judge.need(0 < duration <= MOST_OPEN_SECONDS, f"{where}: seconds must be at most {MOST_OPEN_SECONDS}")
    few = next((rate for rate in rates if rate * duration < 1), None)
    judge.need(few is None, f"{where}: at {few} a second nothing arrives in {duration} s; ask for more seconds")
    window = {"seconds": duration, "users": judge.whole(table.get("users", 200), 1, MOST_USERS, f"{where}: users")}
    site = {} if "target" in table else {"site": dict(common_site or {}) | table.get("site", {})}
    served = _target(table, where) if "target" in table else _sites(table.get("latency", ["0"]), site["site"], where)
    cells = tuple(
        Bare(
            "open",
            "locust",
            {"id": f"open/{name}/rate={rate}", "rate_per_s": rate} | window | values,
            round(duration * 1e9) + _AROUND_NS,
            "own",
        )
        for name, values in served
        for rate in rates
    )
    written = {key: _written(SiteConfig.from_dict(values), "delay") for key, values in site.items()}
    return BareGrid("open", dict(table) | written, cells, judge.rounds(table, where))


def swarm(
    strategy: str,
    in_flight: int,
    site: SiteConfig,
    *,
    ramp_per_s: int | None = None,
    processes: int | None = None,
    hold: str = "0",
) -> Bare:
    """Return the cell of one strategy at a number in flight; its site has one page per fetch."""
    hold_ns = parse_duration_ns(hold)
    told = "".join(f"/{key}={n}" for key, n in (("ramp", ramp_per_s), ("processes", processes)) if n is not None)
    values = {
        "id": f"swarm/in_flight={in_flight}{told}",
        "in_flight": in_flight,
        "ramp_per_s": ramp_per_s,
        "connection": "keep-alive",
        "site": site.to_dict() | {"pages": in_flight},
        "processes": processes,
    } | ({"hold_ns": hold_ns} if hold_ns else {})
    return Bare("swarm", strategy, values, _SWARM_NS + in_flight * _SWARM_EACH_NS + hold_ns)


def client(name: str, site: SiteConfig, in_flight: int, duration: float, stack: str = "own") -> Bare:
    """Return the cell of one client (``locust``, ``wrk`` or a strategy) on a site, for a number of seconds."""
    cell = f"client/latency={site.delay}/in_flight={in_flight}"
    values = {"id": cell, "in_flight": in_flight, "seconds": duration} | _latency_of(site)
    return Bare("client", name, values, round(duration * 1e9) + _AROUND_NS, stack)


def is_loopback(host: str) -> bool:
    """Return whether a host is on the loopback: 127.0.0.0/8, ::1 or localhost."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refusal(url: str) -> str | None:
    """Say that sending load to a URL needs permission; None where its host is this machine's loopback."""
    host = urlsplit(url).hostname or ""
    if is_loopback(host):
        return None
    return (
        f"{url} is not this machine: load is sent there only with the permission of whoever owns {host}; "
        "if you have it, add --not-loopback"
    )


def _swarms(table: dict[str, Any], common_site: dict[str, Any], strategies: tuple[str, ...], where: str) -> BareGrid:
    judge.check_keys(table, ("strategies", "in_flight", "ramp_per_s", "processes", "hold", "rounds", "site"), where)
    chosen, sizes = table.get("strategies", list(strategies)), table.get("in_flight")
    judge.check_list(chosen, str, f"{where}: strategies")
    judge.check_list(sizes, int, f"{where}: in_flight")
    for name in judge.distinct(chosen, f"{where}: strategies"):
        judge.check_known(name, strategies, "strategy", where)
    ramp = judge.optional(table, "ramp_per_s", MOST_IN_FLIGHT, where)
    processes = judge.optional(table, "processes", MOST_PROCESSES, where)
    hold = hold_time(table.get("hold", "0"), f"{where}: hold")
    site = _swarm_site(common_site, table.get("site", {}), where)
    cells = tuple(
        swarm(
            name,
            judge.whole(n, 1, MOST_IN_FLIGHT, f"{where}: in_flight"),
            site,
            ramp_per_s=ramp,
            processes=processes,
            hold=hold,
        )
        for n in judge.distinct(sizes or (), f"{where}: in_flight")
        for name in chosen
    )
    return BareGrid("swarm", table | {"site": _written(site, "delay", "pages")}, cells, judge.rounds(table, where))


def _swarm_site(common: dict[str, Any], own: dict[str, Any], where: str) -> SiteConfig:
    """Return the site of a swarm; it ignores links and the like of the experiment's common site."""
    for key, only in _ONLY_PAGES.items():
        wrong = f"{where}: {key} must be {only!r} in a swarm's site, not {own.get(key)!r}; each fetch is one page"
        judge.need(own.get(key, only) == only, wrong)
    for key, instead in {"pages": "in_flight decides", "delay": "the gate holds all until it opens"}.items():
        judge.need(key not in own, f"{where}: a swarm's site has no {key} of its own; {instead}")
    values = {"body_bytes": SWARM_BODY_BYTES} | common | own | _ONLY_PAGES | {"pages": 1, "delay": "0"}
    return judge.judged(partial(SiteConfig.from_dict, values), where)


def _target(table: Mapping[str, Any], where: str) -> list[tuple[str, dict[str, Any]]]:
    """Return [(part of the id, values of the workload)] for a target other than the fake server."""
    _host(table["target"], f"{where}: target")
    for key in ("latency", "site"):
        judge.need(key not in table, f"{where}: a target has a {key} of its own; leave one of the two out")
    unknown = dict.fromkeys(("latency", "mean_latency_ns", "site"))
    return [(f"target={table['target']}", {**unknown, "target": table["target"]})]


def _sites(latencies: Any, site: dict[str, Any], where: str) -> list[tuple[str, dict[str, Any]]]:
    """Return (part of the id, values of the workload) for each latency of the synthetic site."""
    judge.check_list(latencies, str, f"{where}: latency")
    judge.need("delay" not in site, f'{where}: the site\'s delay is given as "latency" here')
    delays = judge.distinct(
        (judge.judged(partial(parse_delay, text), where) for text in latencies), f"{where}: latency"
    )
    configs = [judge.judged(partial(SiteConfig.from_dict, site | {"delay": delay.text}), where) for delay in delays]
    return [
        (f"latency={delay.text}", _latency_of(config) | {"target": None})
        for delay, config in zip(delays, configs, strict=True)
    ]


def _latency_of(site: SiteConfig) -> dict[str, Any]:
    mean_ns = round(parse_delay(site.delay).mean_ns)
    return {"latency": site.delay, "mean_latency_ns": mean_ns, "site": site.to_dict()}


def _written(site: SiteConfig, *given_elsewhere: str) -> dict[str, Any]:
    """Return the complete table of a site, without the keys that are given elsewhere."""
    return {key: value for key, value in site.to_dict().items() if key not in given_elsewhere}


def _rates(values: Any, where: str) -> tuple[int | float, ...]:
    numbers = isinstance(values, list) and values and all(type(rate) in {int, float} for rate in values)
    judge.need(
        bool(numbers) and all(0 < rate <= MOST_RATE for rate in values),
        f"{where} must be a list of numbers above 0 and at most {MOST_RATE}, not {values!r}",
    )
    return judge.distinct((int(rate) if rate == int(rate) else rate for rate in values), where)


def hold_time(text: Any, where: str) -> str:
    """Validate how long the gates stay shut when all fetches are in flight. Raises ExperimentError."""
    judge.need(isinstance(text, str), f"{where} must be a time such as 30s, not {text!r}")
    hold_ns = judge.judged(partial(parse_duration_ns, text), where)
    judge.need(hold_ns <= MOST_HOLD_NS, f"{where} must be at most an hour, not {text!r}")
    return str(text)


def _host(target: Any, where: str) -> str:
    """Return the host of an http URL. Raises ExperimentError for any other text."""
    judge.need(isinstance(target, str), f"{where} must be an http URL, not {target!r}")
    try:
        parts = urlsplit(target)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise judge.ExperimentError(f"{where}: {target!r} is no URL: {error}") from error
    plain = parts.scheme == "http" and host and not parts.username and not parts.fragment and target.isprintable()
    judge.need(
        bool(plain) and " " not in target, f"{where} must be an http URL such as http://127.0.0.1:8000/, not {target!r}"
    )
    judge.need(port != 0, f"{where}: nothing listens on port 0, as in {target!r}; give the port of the server")
    return str(host)
