"""Compare the loops of this project with other clients of the same server, and print one table.

    python -m tools.crosscheck --rounds 1

Two clients by other authors load the server from the same core: wrk and Locust, each with its own clock and statistics.
Our closed loop (the strategy callbacks), our open loop (at 80 % of what the closed loops can reach) and our null client
do the same. A client that is not installed has a line that says so (`apt install wrk`, `make extras`).

With an added latency L, no request takes less, and N in flight complete N / (L + t) requests per second, where t is
the time of a request beyond L. Each client is compared with this value: two of them may have the same fault.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, median_low

from rich import box
from rich.console import Console
from rich.table import Table

from inflight import strategies
from inflight.bench import units
from inflight.bench.measure import host, process
from inflight.bench.measure.crawl import observe
from inflight.bench.measure.run import RunError, need_locust
from inflight.bench.measure.server import Server, ServerError, counted_between, running
from inflight.bench.measure.swarm.open_loop import run_open
from inflight.bench.measure.trial import Observation, Setting
from inflight.bench.plan.grid import served
from inflight.bench.plan.scale import OpenTable
from inflight.bench.plan.trials import trial_of
from inflight.bench.rows.kinds import CrawlWorkload
from inflight.fake_server.delays import parse_delay
from inflight.fake_server.site import SiteConfig
from tools.wrk import MISSING, Wrk, find

IN_FLIGHT = 50
SECONDS = {"50ms": 3, "10ms": 2, "0": 1}
"""Length of the window for each added latency: with a longer latency, the loop turns fewer times per second."""
OPEN_SHARE, OPEN_RATE_PER_S = 0.8, 5000
"""The rate of the open loop, as a share of that of a closed loop, or of this one without added latency."""
PAGES_PER_S = 20_000
"""Estimated pages per second of a strategy without added latency."""
SPAWN_S = 1
"""Additional time for Locust's users to start, after which it resets its statistics."""
MAX_RATE_SHARE = 0.03
"""Maximum deviation of a throughput from the expected one, as a share. wrk counts from its first connect to the end of
its time: in 3 s at 50 ms it counts 59 of 60 turns of the loop, 1.7 % too few."""
MAX_ADDED_NS = 1_000_000
"""Maximum deviation of a median time from the added latency, and the most that the expected throughput allows for: a
slow clock does not excuse a low throughput. A Python client reads the last of 50 answers that are due together some
hundred microseconds after the first."""
FULL_SHARE = 0.90
"""Minimum share of its core at which a client counts as limited by it, and is not compared."""
LOCUSTFILE = Path(__file__).parent / "plain_user.py"


@dataclass(frozen=True, slots=True)
class ClientReading:
    """What one client measured once; ``measure`` adds the use of both cores and what the server counted."""

    per_s: float
    p50_ns: float | None
    failed: int
    requests: int | None  # by the client's own count; None where it counts only a part of them
    expected_per_s: float | None = None
    """Known in advance for an open loop; for a closed loop it follows from the latency."""
    client_share: float | None = None
    """CPU time of the client while it was measured, as a share; if it does not know that, over its whole life."""
    server_share: float = 0.0
    received: int = 0
    """Requests that the server counted."""


Client = Callable[[Server, SiteConfig, int, Setting], ClientReading]


def callbacks(server: Server, site: SiteConfig, _seconds: int, setting: Setting) -> ClientReading:
    """Crawl the site, as in any trial: the completions in the steady state, in whole turns of the loop."""
    workload = CrawlWorkload(id="crosscheck", in_flight=IN_FLIGHT, connection="keep-alive", **served(site))
    seen = Observation()
    observe(trial_of("crawl", 1, workload, strategies.describe("callbacks")), server, setting, seen)
    steady = seen.outcome["steady"]
    if steady is None:
        raise process.WorkerError(seen.wrong or "the loop was never full")
    per_s = 1e9 * steady["completions"] / steady["window_ns"]
    measured = seen.measured
    share = (measured["cpu_user_ns"] + measured["cpu_system_ns"]) / measured["makespan_ns"]
    p50_ns = measured["steady_service"]["p50_ns"]
    return ClientReading(per_s, p50_ns, measured["failed_pages"], measured["tries"], client_share=share)


def open_loop(server: Server, site: SiteConfig, seconds: int, setting: Setting) -> ClientReading:
    """Send at a constant rate; the median is that of the service times."""
    rate = OPEN_SHARE * (_ideal_per_s(site, 0) or OPEN_RATE_PER_S)
    table = OpenTable(rates=(rate,), seconds=seconds, latency=(site.delay,), site={"links": 0, "pages": 1000})
    row = run_open(table.trials()[0], server, setting)
    if row.status != "ok":
        raise process.WorkerError(row.reason or row.status)
    measured = row.measured
    expected = measured.offered_per_s if site.delay != "0" else None
    p50_ns, share = measured.uncorrected.p50_ns, measured.client_cpu_share
    return ClientReading(measured.completed_per_s, p50_ns, measured.failed, None, expected, share)


def wrk(server: Server, site: SiteConfig, seconds: int, setting: Setting) -> ClientReading:
    """Load one page with wrk."""
    if (path := find()) is None:
        raise process.SkipError(MISSING)
    server.configure(site)
    driven = Wrk(path, setting.cpus.client).drive(f"{server.base}/p/1", IN_FLIGHT, seconds)
    return ClientReading(driven.per_s, driven.p50_ns, driven.failed, driven.requests)


def locust(server: Server, site: SiteConfig, seconds: int, setting: Setting) -> ClientReading:
    """Load pages with plain Locust, and read the statistics that it prints."""
    try:
        need_locust()
    except RunError as error:
        raise process.SkipError(str(error)) from error
    server.configure(site)
    cpus = setting.cpus.client
    options = f"--headless -u {IN_FLIGHT} -r {IN_FLIGHT} -t {seconds + SPAWN_S}s --reset-stats --json --only-summary"
    done = subprocess.run(
        [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), *options.split(), "--host", server.base],
        capture_output=True,
        check=False,
        env=process.environment(),
        preexec_fn=None if cpus is None else lambda: os.sched_setaffinity(0, cpus),
    )
    if not done.stdout.strip():
        raise process.WorkerError(f"Locust printed no statistics: {done.stderr.decode()[-200:]}")
    (entry,) = json.loads(done.stdout)
    times = sorted((float(time_ms), count) for time_ms, count in entry["response_times"].items())
    every_ms = [time_ms for time_ms, count in times for _ in range(count)]
    p50_ns = 1e6 * median_low(every_ms) if every_ms else None
    lasted_s = entry["last_request_timestamp"] - entry["start_time"]
    if lasted_s < seconds / 2:
        raise process.WorkerError("Locust's users started too late")
    return ClientReading(entry["num_requests"] / lasted_s, p50_ns, entry["num_failures"], None)


def null_client(server: Server, site: SiteConfig, _seconds: int, setting: Setting) -> ClientReading:
    """Count answers without parsing them, over more connections: the limit of the server."""
    server.configure(site)
    server.find_ceiling(setting.cpus.client)
    return ClientReading(server.ceiling_per_s or 0.0, None, 0, None)


CLIENTS: dict[str, Client] = {
    "callbacks": callbacks,
    "open loop": open_loop,
    "locust": locust,
    "wrk": wrk,
    "null client": null_client,
}


def measure(client: Client, server: Server, site: SiteConfig, seconds: int, setting: Setting) -> ClientReading:
    """Let a client load the server; the CPU time of a client is that of all children that end meanwhile."""
    server.tell("reset")
    before, used, began_s = server.stats(), resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    reading = client(server, site, seconds, setting)
    lasted_s, ended, after = time.monotonic() - began_s, resource.getrusage(resource.RUSAGE_CHILDREN), server.stats()
    share = reading.client_share
    if share is None:
        share = (ended.ru_utime + ended.ru_stime - used.ru_utime - used.ru_stime) / lasted_s
    server_share = counted_between(before, after)["cpu_share"]
    return replace(reading, client_share=share, server_share=server_share, received=after["requests"])


def _ideal_per_s(site: SiteConfig, added_ns: float) -> float | None:
    """Return the throughput of a closed loop whose requests take this much beyond the latency; None without latency."""
    mean_ns = parse_delay(site.delay).mean_ns
    return 1e9 * IN_FLIGHT / (mean_ns + min(max(added_ns, 0.0), MAX_ADDED_NS)) if mean_ns else None


def judge(rounds: Sequence[ClientReading], site: SiteConfig) -> tuple[str, ...]:
    """Return the cells of a client: medians over its rounds, the expected throughput, and the verdict."""
    per_s = median(reading.per_s for reading in rounds)
    times = [reading.p50_ns for reading in rounds if reading.p50_ns is not None]
    added_ns = median(times) - parse_delay(site.delay).mean_ns if times else None
    expected = rounds[0].expected_per_s or _ideal_per_s(site, added_ns or 0.0)
    share = median(reading.client_share or 0.0 for reading in rounds)
    lost = [reading for reading in rounds if reading.received < (reading.requests or 0)]
    if failed := sum(reading.failed for reading in rounds):
        verdict = f"off: {failed} failed"
    elif lost:
        verdict = f"off: counted {lost[0].requests}, the server {lost[0].received}"
    elif expected is None:
        verdict = "not compared"
    elif share >= FULL_SHARE:
        verdict = "its core is full"
    elif abs(per_s / expected - 1) > MAX_RATE_SHARE or abs(added_ns or 0.0) > MAX_ADDED_NS:
        verdict = "off"
    else:
        verdict = "agrees"
    return (
        units.number(per_s, 3),
        "-" if expected is None else f"{units.number(expected, 3)} ({per_s / expected - 1:+.1%})",
        "-" if added_ns is None else f"{added_ns / 1e6:+.2f} ms",
        units.percent(share),
        units.percent(median(reading.server_share for reading in rounds)),
        verdict,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure each client at each latency, and print the table; return 1 if one is off, 2 without a server."""
    parser = argparse.ArgumentParser(prog="python -m tools.crosscheck", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, choices=range(1, 100), metavar="N")
    rounds, cpus = parser.parse_args(argv).rounds, host.choose_cpus(pin=True)
    heads = ("latency", "client", "requests/s", "expected", "median beyond", "its core", "server's core", "")
    table, is_off = Table(*heads, box=box.SIMPLE, title=f"Clients of one server, {IN_FLIGHT} in flight"), False
    setting = Setting("crosscheck", cpus)
    try:
        with running(cpus.server) as server:
            for delay, seconds in SECONDS.items():
                mean_ns = parse_delay(delay).mean_ns
                turns = round(seconds * (1e9 / mean_ns if mean_ns else PAGES_PER_S / IN_FLIGHT))
                site = SiteConfig(pages=turns * IN_FLIGHT, links=0, delay=delay)
                for name, client in CLIENTS.items():
                    if client is null_client and mean_ns:
                        continue
                    try:
                        cells = judge([measure(client, server, site, seconds, setting) for _ in range(rounds)], site)
                    except process.TrialError as error:
                        cells = (*"-----", str(error).partition(";")[0])
                    is_off = is_off or cells[-1].startswith("off")
                    table.add_row(delay, name, *cells)
    except (ServerError, OSError) as error:
        print(f"crosscheck: {error}", file=sys.stderr)
        return 2
    Console(width=120).print(table)
    return 1 if is_off else 0


if __name__ == "__main__":
    sys.exit(main())
