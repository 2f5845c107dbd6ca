"""The command ``inflight open-loop``: send at constant rates, one after the other, and say which of them were kept.

It makes an experiment of one table (``plan.scale.OpenTable``) of its options, and runs it as ``inflight run`` does
(``commands``); ``measure.swarm.open_loop`` measures each rate.
"""

import socket
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from inflight.bench.commands import run as commands
from inflight.bench.commands.options import JSON, OUT, QUIET, option
from inflight.bench.commands.output import complain
from inflight.bench.measure import run as runs
from inflight.bench.plan import scale
from inflight.bench.plan.experiment import Experiment, ExperimentError
from inflight.bench.plan.judge import convert, judged, need
from inflight.bench.rows import files as rows
from inflight.fake_server.delays import parse_delay, parse_duration_ns

ABOUT = "Requests sent at constant rates, whether or not earlier ones were answered (inflight open-loop)."
"""What the experiment measures."""
DEFAULT_LATENCY = "10ms"
"""Added latency of the synthetic site."""
HTTP_PORT = 80
"""Port of a URL without one."""
CONNECT_S = 5.0
"""Maximum time in seconds until a target accepts a connection."""


@click.option(
    "--rate",
    "rates",
    metavar="N",
    type=click.FloatRange(0.001, 100_000),
    required=True,
    multiple=True,
    help="Requests per second. Repeatable: one trial for each rate.",
)
@click.option("--duration", metavar="TIME", default="10s", help="Duration of each trial, e.g. 10s.")
@option("--latency", note="[default: 10ms]")
@option("--in-flight", type=click.IntRange(1, 20_000), default=200)
@click.option("--target", metavar="URL", help="Request this URL instead of the synthetic site.")
@click.option(
    "--not-loopback", is_flag=True, help="Allow a target on another host; its owner must have permitted the load."
)
@option("--rounds", default=1)
@OUT
@JSON
@QUIET
def run(
    *,
    rates: Sequence[float],
    duration: str,
    latency: str | None,
    in_flight: int,
    target: str | None,
    not_loopback: bool,
    rounds: int,
    out: Path,
    as_json: bool,
) -> int:
    """Send requests at constant rates, and measure response times.

    Response times are shown with and without the queueing delay of requests that were sent late.

    \b
    inflight open-loop --rate 500 --rate 1000 --rate 2000
    inflight open-loop --rate 50 --duration 5s --target http://127.0.0.1:8000/

    Needs Locust: pip install locust.
    """
    seconds = judged(partial(parse_duration_ns, duration), "--duration") / 1e9
    need(0 < seconds <= scale.MAX_OPEN_SECONDS, f"--duration must be longer than 0 and at most 1h, not {duration}")
    values: dict[str, Any] = {"rates": list(rates), "seconds": seconds, "users": in_flight}
    if target is None:
        values["latency"] = [judged(partial(parse_delay, latency or DEFAULT_LATENCY), "--latency").text]
    else:
        need(latency is None, "--target has its own latency; leave out --latency")
        values["target"] = target
    table = convert(values, scale.OpenTable, "--rate" if target is None else "--target")
    experiment = Experiment(name="open-loop", about=ABOUT, strategies=(), rounds=rounds, open=(table,))
    trials = runs.plan(experiment)
    if target is not None:
        if not not_loopback and (refused := scale.refusal(target)) is not None:
            raise ExperimentError(f"--target {refused}")
        parts = urlsplit(target)
        try:
            socket.create_connection((parts.hostname or "", parts.port or HTTP_PORT), CONNECT_S).close()
        except OSError as error:
            raise ExperimentError(
                f"--target {target}: no server answers at {parts.netloc} ({error.strerror or error}); "
                "start the server first"
            ) from error
    folder = runs.new_folder(out, experiment)
    # A stored experiment may load this machine only. To load another one, the user must give permission again.
    again = "begin again" if not_loopback else commands.RESUME
    interrupted = commands.execute(folder, experiment, trials, again=again)
    stored = rows.read(folder)
    commands.present(folder, stored, as_json=as_json)
    if interrupted:
        return 130
    if any(row.valid for row in stored):
        return 0
    complain(f"no valid trial among {len(stored)}: nothing here supports a conclusion")
    return 1
