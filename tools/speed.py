"""``make speed``: compare the server and the strategies with their targets, as ratios to wrk in the same run.

The ratio to wrk on the same server in the same minute is the share of the server's speed that a client can use; it
varies far less between machines than a rate. One core serves, another one drives. Rounds are interleaved; the output
has the median and the range.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

from inflight import strategies
from inflight.bench.measure import host, process
from inflight.bench.measure.crawl import run_trial
from inflight.bench.measure.server import Server, ServerError, running
from inflight.bench.measure.trial import Setting
from inflight.bench.plan.grid import served
from inflight.bench.plan.trial import Trial
from inflight.bench.plan.trials import trial_of
from inflight.bench.rows.files import Row
from inflight.bench.rows.kinds import CrawlWorkload
from inflight.fake_server.site import SiteConfig
from tools.wrk import MISSING, Driven, Wrk, WrkError, find

PAGES = 30_000
PLAIN = SiteConfig(pages=PAGES, links=0, body_bytes=1200)
LINKED = SiteConfig(pages=PAGES, links=10, body_bytes=1200)
SLOW = SiteConfig(pages=1000, links=0, delay="50ms")
OWN_STACK_PAGES = 6_000
"""Number of pages for clients with a stack of their own: they are slower, and these suffice for a rate."""
MEMORY_IN_FLIGHT = (500, 1000, 1500, 2000, 2500)
WRK_SECONDS = 3
DEADLINE_S = 120.0
"""Maximum duration of a trial."""
Drive = Callable[[str, int], Driven]
"""Let wrk load a URL over a number of connections."""
_BASELINE_SITE = ("--port", "0", "--pages", str(PLAIN.pages), "--links", "0")


class SpeedError(Exception):
    """Something that the measurement needs is missing or failed; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Target:
    """A line of the result: a figure with a lower or an upper bound."""

    what: str
    bound: float
    at_least: bool
    unit: str = ""


def _rate(name: str, bound: float, site: str) -> tuple[str, Target]:
    return f"{site}/{name}", Target(f"{name}, {site}: pages/s over wrk's requests/s", bound, at_least=True)


def _memory(name: str, kilobytes: float) -> tuple[str, Target]:
    return f"memory/{name}", Target(f"{name}: user memory per fetch in flight", kilobytes, at_least=False, unit=" kB")


TARGETS: dict[str, Target] = dict([
    ("server", Target("fake server over aiohttp.web, requests/s", 3, at_least=True)),
    ("errors", Target("failed requests or connections at 10,000 connections", 0, at_least=False)),
    ("drops", Target("listen drops at 10,000 connections", 0, at_least=False)),
    ("lateness", Target("timer lateness p99, 1,000 in flight, 50 ms, first ones apart", 2, at_least=False, unit=" ms")),
    _rate("callbacks", 0.60, "no links"),
    _rate("thread_pool", 0.40, "no links"),
    _rate("generators", 0.35, "no links"),
    _rate("native_asyncio", 0.20, "no links"),
    _rate("aiohttp_client", 0.05, "no links"),
    _rate("callbacks", 0.35, "ten links"),
    _memory("callbacks", 2),
    _memory("generators", 3),
    _memory("native_asyncio", 8),
    _memory("thread_pool", 26),
])  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print everything; return 0 if all targets are met, 1 if not, 2 for errors."""
    parser = argparse.ArgumentParser(prog="python -m tools.speed", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=_number, default=3, help="number of rounds; default: 3")
    parser.add_argument("--pages", type=_number, default=PAGES, help=f"pages per crawl; default: {PAGES:,}")
    parser.add_argument(
        "--seconds", type=_number, default=WRK_SECONDS, help=f"duration of each run of wrk; default: {WRK_SECONDS}"
    )
    asked = parser.parse_args(argv)
    try:
        return _report(_measure(asked.rounds, asked.pages, asked.seconds))
    except (SpeedError, ServerError, WrkError) as error:
        print(f"speed: {error}", file=sys.stderr)
        return 2


def _number(text: str) -> int:
    """Parse a whole number of at least 1. Raises ValueError."""
    number = int(text)
    if number < 1:
        raise ValueError(number)
    return number


def _measure(rounds: int, pages: int, wrk_seconds: int) -> dict[str, list[float]]:
    """Return the figures of all rounds; fewer pages and seconds are faster and noisier."""
    wrk = find()
    if wrk is None:
        raise SpeedError(MISSING)
    cpus = host.choose_cpus(pin=True)
    if cpus.client is None:
        print("warning: client and server share a core, or cannot be pinned", file=sys.stderr)
    figures: dict[str, list[float]] = defaultdict(list)
    setting = Setting("speed", cpus, lambda _trial: DEADLINE_S)
    drive = partial(Wrk(wrk, cpus.client).drive, seconds=wrk_seconds)
    for number in range(1, rounds + 1):
        with running(cpus.server) as server, _baseline(cpus.server) as baseline_url:
            print(f"round {number} of {rounds} ...", file=sys.stderr)
            _measure_server(figures, server, baseline_url, drive)
            for site, linked in (("no links", PLAIN), ("ten links", LINKED)):
                _measure_rates(figures, server, site, replace(linked, pages=pages), drive, setting)
            if number == 1:
                _measure_memory(figures, server, setting)
    return figures


def _measure_server(figures: dict[str, list[float]], server: Server, baseline_url: str, drive: Drive) -> None:
    server.configure(PLAIN)
    ours = drive(server.base + "/p/5", 100)
    theirs = drive(baseline_url + "/p/5", 100)
    figures["server"].append(ours.per_s / theirs.per_s)
    figures["server requests/s"].append(ours.per_s)
    figures["aiohttp.web requests/s"].append(theirs.per_s)
    drops = host.listen_drops()
    many = drive(server.base + "/p/5", 10_000)
    figures["errors"].append(many.failed)
    figures["10,000 connections requests/s"].append(many.per_s)
    if drops is not None:
        figures["drops"].append((host.listen_drops() or 0) - drops)
    server.configure(SLOW)
    server.tell("reset")
    drive(server.base + "/p/5", 1000)
    stats = server.stats()
    figures["lateness"].append(stats["lateness_p99_ns"] / 1e6)
    figures["latest first response, ms"].append(stats["first_lateness_max_ns"] / 1e6)


def _measure_rates(
    figures: dict[str, list[float]], server: Server, site: str, config: SiteConfig, drive: Drive, setting: Setting
) -> None:
    for name in ("callbacks", "thread_pool", "generators", "native_asyncio", "aiohttp_client"):
        described = strategies.describe(name)
        pages = config.pages if described.stack == "shared" else min(config.pages, OWN_STACK_PAGES)
        server.configure(config)
        ceiling = drive(server.base + "/p/5", 100)
        row = _run(trial_of("crawl", 1, _workload(site, replace(config, pages=pages), 100), described), server, setting)
        figures[f"{site}/{name}"].append(row.measured.pages_per_s / ceiling.per_s)
        figures[f"{site}/wrk requests/s"].append(ceiling.per_s)
        figures[f"{site}/{name} pages/s"].append(row.measured.pages_per_s)


def _measure_memory(figures: dict[str, list[float]], server: Server, setting: Setting) -> None:
    from inflight.bench.frame.slopes import NoSlope, memory_slope

    for key in (key for key in TARGETS if key.startswith("memory/")):
        name = key.removeprefix("memory/")
        rows = []
        for in_flight in MEMORY_IN_FLIGHT:
            config = replace(PLAIN, pages=in_flight)
            trial = trial_of("memory", 1, _workload("memory", config, in_flight), strategies.describe(name))
            rows.append(_run(trial, server, setting))
        held = [row.measured.held_in_flight for row in rows]
        slope = memory_slope(held, [row.measured.held_uss_bytes for row in rows])
        if isinstance(slope, NoSlope):
            raise SpeedError(f"{name}: {slope.reason}")
        figures[key].append(slope.estimate / 1000)


def _workload(name: str, config: SiteConfig, in_flight: int) -> CrawlWorkload:
    return CrawlWorkload(id=name, in_flight=in_flight, connection="keep-alive", **served(config))


def _run(trial: Trial, server: Server, setting: Setting) -> Row:
    row = run_trial(trial, server, setting)
    if row.status != "ok":
        raise SpeedError(f"{trial.id}: {row.reason}")
    return row


@contextmanager
def _baseline(cpus: set[int] | None) -> Iterator[str]:
    """Serve the same pages with aiohttp.web on the same core, and yield its URL."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "tools.aiohttp_baseline", *_BASELINE_SITE],
        stdout=subprocess.PIPE,
        text=True,
        env=process.environment(),
        start_new_session=True,
    ) as server:
        try:
            if cpus is not None:
                os.sched_setaffinity(server.pid, cpus)
            assert server.stdout is not None
            line = server.stdout.readline()
            if not line:
                raise SpeedError("the aiohttp.web server to compare with did not start")
            yield f"http://127.0.0.1:{json.loads(line)['port']}"
        finally:
            server.terminate()


def _report(figures: dict[str, list[float]]) -> int:
    missed = 0
    for key, target in TARGETS.items():
        values = figures[key]
        if not values:
            print(f"  ?   {target.what}: not available on this system")
            continue
        middle = median(values)
        sign, is_met = (">=", middle >= target.bound) if target.at_least else ("<=", middle <= target.bound)
        missed += not is_met
        spread = f"   ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else ""
        mark = "ok  " if is_met else "MISS"
        print(f"{mark} {target.what:<66} {middle:8.2f}{target.unit} {sign} {target.bound:g}{target.unit}{spread}")
    print("\nmedians behind these:")
    for key, values in figures.items():
        if key not in TARGETS and key.endswith(("/s", "ms")):
            print(f"     {key:<45} {median(values):10,.0f}   ({min(values):,.0f} to {max(values):,.0f})")
    print(f"\n{len(TARGETS) - missed} of {len(TARGETS)} targets met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
