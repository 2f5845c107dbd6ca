"""Run one block and make its rows: always one for each arm, also if the server or an arm fails.

``measure.run.measured`` calls ``run``. ``block.observe`` does the measuring; here its readings of windows become
figures, and the answer of each arm is compared with that of the site. The terms, which ``block`` explains in full:

- *arm*: a strategy with its settings, in a worker of its own; *slice*: one turn of an arm; *cycle*: a slice of each
- *window*: the part of a slice that counts, from one reading of what the arm has used to the next
- *gate*: the port of an arm at the server, which holds all responses between its slices
- *in band*: the worker samples its own CPU time between pages; the other clocks read it from outside
- *lap*: one pass through the pages of the endless site, on which each lap has new paths
- *late*: how much later than due the server sent a delayed response
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from inflight.bench.measure import checks, host, interpreters
from inflight.bench.measure.blocks import block as blocks
from inflight.bench.measure.blocks.block import Observed, Running, Slice, TooMuchForServerError
from inflight.bench.measure.blocks.usage import Clock, Usage
from inflight.bench.measure.checks import Judge, Judgement, judge, passed_if
from inflight.bench.measure.expected import described, lap_answer, longest_wait_ns
from inflight.bench.measure.process import Runtime, TrialError
from inflight.bench.measure.server import Server, ServerError
from inflight.bench.measure.trial import Begin, Observation, Setting, conduct, skipped
from inflight.bench.plan.trial import Trial, row_trials
from inflight.bench.rows.files import Row
from inflight.fake_server.site import SiteConfig


def run(block: Trial, runtimes: Mapping[str, Runtime], server: Server, setting: Setting) -> list[Row]:
    """Run a block; return the rows of its arms, in the order in which the block has them."""
    begin, before = Begin.now(), host.disturbances(setting.cpus)
    try:
        observed = blocks.observe(block, runtimes, server, setting, Random(f"{setting.run} {block.id}"))
    except ServerError as error:
        return [conduct(trial, setting.run, partial(_lost, error), server, begin) for trial in row_trials(block)]
    except TooMuchForServerError as error:
        return [skipped(trial, setting.run, "server", str(error)) for trial in row_trials(block)]
    outside = host.disturbances(setting.cpus).since(before)
    done = _Done(block, setting, observed, outside, server.ceiling_per_s)
    return [
        conduct(block.part_of(running.arm), setting.run, partial(_of_arm, running, done), server, begin)
        for running in observed.arms
    ]


def _lost(error: ServerError, seen: Observation) -> None:
    """Raise the error that ends all arms when the server is lost."""
    seen.measured = {"server_lost": True}
    raise error


@dataclass(frozen=True, slots=True)
class _Done:
    """Values that the rows of a block share."""

    block: Trial
    setting: Setting
    observed: Observed
    outside: Mapping[str, Any]
    """Disturbances by others (``host.disturbances``)."""
    ceiling_per_s: float | None
    """Responses per second that the server can give."""


def _of_arm(running: Running, done: _Done, seen: Observation) -> None:
    """Record the results of one arm in ``seen``, or raise its failure; called by ``trial.conduct``."""
    block = done.block
    seen.measured, seen.knobs = {"block": block.id}, running.knobs
    if running.failure is not None:
        raise running.failure
    windows = _windows(block, running, done.observed.clock)
    if not any(window["pages"] for window in windows):
        raise TrialError("no page was finished in any window")
    seen.knobs["gil"] = running.outcome["gil"]  # a library that the crawl imported may have turned the lock on
    counted = {key: running.outcome[key] for key in _COUNTED if key in running.outcome}
    cores, of_server = running.runtime.cpus or frozenset(), done.setting.cpus.server or set()
    seen.measured = (
        counted
        | running.memory
        | dict(done.outside)
        | _figures(windows)
        | {
            "block": block.id,
            "windows": windows,
            "requests": running.requests,
            "held_in_flight": running.peak,
            "reached_in_flight": running.reached,
            "clock": done.observed.clock,
            "clock_step_ns": done.observed.clock_step_ns,
            "others_share": done.observed.others_share,
            "beside_server": bool(cores & of_server) or None,  # an arm with several cores may share the server's
        }
    )
    seen.server = {
        "cpu_share": sum(each.server_cpu_ns for each in running.slices)
        / sum(each.server_wall_ns for each in running.slices),
        "run_delay_share": done.observed.server_delay_share,
        "lateness_max_ns": max(each.latest_ns or 0 for each in running.slices),
        "ceiling_per_s": None if running.arm.tls else done.ceiling_per_s,  # it was measured without TLS
    }
    seen.wrong = answer_difference(block.site, running.outcome["answer"])
    # usual_ns: for how long most fetches (90 %) were open within a slice, to judge a hole by.
    seen.outcome = {"asked": running.asked, "usual_ns": running.outcome["usual_ns"]}
    cpus = running.runtime.cpus or done.setting.cpus.client
    seen.wanted = interpreters.wanted_knobs(running.arm.strategy, running.runtime, cpus)
    seen.checks = judge(CHECKS, block.part_of(running.arm), seen)


_COUNTED = (
    *("pages", "failed_pages", "tries", "peak_in_flight", "hole_ns", "service"),
    *("work_units", "work_ns", "worked_pages", "lag"),
)
"""Figures of a whole crawl that the worker reports under the names of rows."""


def _windows(block: Trial, running: Running, clock: Clock) -> list[dict[str, Any]]:
    """Return what the row has of each window, by the clock of the block. In band, one with few samples is dropped."""
    waits, windows = block.workload.mean_latency_ns > 0, []
    for each, seen in zip(running.slices, running.outcome["windows"], strict=True):
        window = {"cycle": each.cycle, "late_ns": each.late_ns}
        if clock != "in band":
            windows.append(window | _from_outside(each, seen, waits))
        elif seen["samples"] >= blocks.MIN_SAMPLES:
            begin, end = map(_sampled, seen["ends"])
            windows.append(window | _between(begin, end))
    return windows


def _sampled(sample: Sequence[int]) -> tuple[Usage, int]:
    """Return the usage and the number of finished pages of a sample; see ``worker.finished``."""
    *used, pages = sample
    return Usage(*used), pages


def _from_outside(each: Slice, seen: Mapping[str, Any], waits: bool) -> dict[str, Any]:
    """Return the figures of a window that was read from outside: ``seen`` are the pages that the worker counted in it.

    With an added latency (``waits``), a window has few pages, and a count is off by up to one. There the rate between
    the first page and the last, (pages - 1) / (last_ns - first_ns), times the length of the window gives its pages.
    A reading takes time, from ``at_ns`` to ``until_ns``: a window begins with one and ends with one.
    """
    pages = float(seen["pages"])
    if waits and pages >= 2 and seen["last_ns"] > seen["first_ns"]:
        pages = (pages - 1) * (each.end.until_ns - each.begin.at_ns) / (seen["last_ns"] - seen["first_ns"])
    return _between((each.begin, 0), (each.end, pages))


def _between(begin: tuple[Usage, float], end: tuple[Usage, float]) -> dict[str, Any]:
    """Return the figures between two readings of usage and pages."""
    (old, pages_before), (new, pages) = begin, end
    return {
        "begin_ns": old.at_ns,
        "wall_ns": new.until_ns - old.at_ns,
        "cpu_ns": new.cpu_ns - old.cpu_ns,
        "pages": round(pages - pages_before, 3),
    }


def _figures(windows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the headline figures as ratios of sums, which vary less than means of ratios."""
    cpu_ns, wall_ns, pages = (sum(window[key] for window in windows) for key in ("cpu_ns", "wall_ns", "pages"))
    late_ns = [window["late_ns"] for window in windows if window["late_ns"] is not None]
    return {
        "cpu_per_page_ns": round(cpu_ns / max(1, pages)),
        "pages_per_s": pages / wall_ns * 1e9,
        "cpu_share": cpu_ns / wall_ns,
        "late_ns": round(statistics.median(late_ns)) if late_ns else None,
    }


def answer_difference(config: SiteConfig, lines: Sequence[Sequence[Any]]) -> str | None:
    """Describe the difference of an answer from an endless site in one sentence; None when there is none.

    A line is (path of the first lap, laps, status, bytes); see ``inflight.bench.measure.worker.finished``.
    """
    expected, waiting = lap_answer(config), set(lap_answer(config))
    for path, _, status, size in lines:
        if path not in waiting:
            return f"{path} came twice, skipped a lap, or is not a page of the site"
        waiting.remove(path)
        if (status, size) != expected[path]:
            return f"{path}: expected {described(expected[path])}, got {described((status, size))}"
    return f"{len(waiting)} of {config.pages} pages are missing" if waiting else None


# Validity checks: only wrong figures fail them; noise widens intervals instead.

ANY_COST = math.inf
"""No tolerance: the cost of CPU work per page depends on other load, so it is reported and not judged."""


def cap(_trial: Trial, seen: Observation) -> Judgement:
    """Check that the in-flight cap was reached and never exceeded, as seen by client and gate.

    Of the gate this is the most that it held at a reading (``Running.peak``). ``block`` waits for the cap in each
    slice, and gives an arm up that does not reach it or exceeds what was asked for. A client with a limit of its own
    reaches this limit. It may count more: fetches that wait within the client.
    """
    client, held = seen.measured["peak_in_flight"], seen.measured["held_in_flight"]
    asked = seen.outcome["asked"]
    reached = seen.measured.get("reached_in_flight") or asked
    what = "cap" if reached == asked else f"reached {reached} of"
    figures = f"{what} {asked}, most in flight: client {client}, held by the gate {held}"
    return passed_if(held == reached <= client <= asked, figures)


def hole(trial: Trial, seen: Observation) -> Judgement:
    """Check that fetches ended all the time. The usual time is that of a fetch within a slice, 90 % quantile."""
    return checks.no_hole(seen, longest_wait_ns(trial.site), seen.outcome["usual_ns"])


CHECKS: dict[str, Judge] = {
    "answer correct": lambda _, seen: checks.answer(seen, seen.measured["pages"]),
    "no unexpected failures": lambda _, seen: checks.failures(seen.measured["failed_pages"]),
    "cap reached, never exceeded": cap,
    "no hole": hole,
    "requests counted alike": lambda _, seen: checks.counted_alike(seen.measured["tries"], seen.measured["requests"]),
    "settings applied": checks.settings,
    "CPU work done": lambda trial, seen: checks.work(seen, seen.measured["pages"], trial.workload.cpu_ns, ANY_COST),
}
