"""Run one block and make its rows: always one for each arm."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from random import Random
from typing import Any

from inflight.bench.core.arm import ArmTrial, BlockTrial
from inflight.bench.core.rows import Row
from inflight.bench.measure import host, interpreters
from inflight.bench.measure.blocks import block as blocks
from inflight.bench.measure.blocks.block import Running, Slice
from inflight.bench.measure.blocks.checks import CHECKS, Evidence
from inflight.bench.measure.blocks.sides import Prepared
from inflight.bench.measure.checks import judge
from inflight.bench.measure.expected import described, lap_answer
from inflight.bench.measure.process import TrialError
from inflight.bench.measure.server import Server, ServerError
from inflight.bench.measure.trial import Begin, Observation, Setting, conduct
from inflight.fake_server.site import SiteConfig


def run(block: BlockTrial, prepared: Mapping[str, Prepared], server: Server, setting: Setting) -> list[Row]:
    """Run a block; return the rows of its arms, in the order in which the block has them."""
    begin, before = Begin.now(), host.disturbances(setting.cpus)
    try:
        draw = Random(f"{setting.run} {block.id}")
        arms = blocks.observe(
            block, prepared, server, setting.cpus.client, setting.deadline_s(block), draw, setting.unit_ns
        )
    except ServerError as error:
        return [conduct(trial, setting.run, partial(_lost, error), server, begin) for trial in block.trials]
    outside = host.disturbances(setting.cpus).since(before)
    done = _Done(block, setting, _about_cycles(arms), outside, server.ceiling_per_s)
    return [conduct(ArmTrial(block, one.arm), setting.run, partial(_of_arm, one, done), server, begin) for one in arms]


def _lost(error: ServerError, seen: Observation) -> None:
    """Raise the error that ends all arms when the server is lost."""
    seen.measured = {"server_lost": True}
    raise error


@dataclass(frozen=True, slots=True)
class _Done:
    """Values that the rows of a block share."""

    block: BlockTrial
    setting: Setting
    cycles: Mapping[str, Any]
    outside: Mapping[str, Any]
    ceiling_per_s: float | None


def _about_cycles(arms: Sequence[Running]) -> dict[str, Any]:
    """Return how much others took from the cycles of a block, which is the same for all its arms."""
    shares = blocks.missing(arms)
    return {
        "missing_share": sum(shares.values()) / max(1, len(shares)),
        "disturbed": len(blocks.disturbed(arms)),
    }


def _of_arm(one: Running, done: _Done, seen: Observation) -> None:
    """Record the results of one arm, or raise its failure."""
    block = done.block
    seen.measured, seen.knobs = {"block": block.id}, one.knobs
    if one.failure is not None:
        raise one.failure
    windows = _windows(block, one)
    if not any(window["pages"] for window in windows):
        raise TrialError("no page was finished in any window")
    seen.knobs["gil"] = one.outcome["gil"]  # a library that the crawl imported may have turned the lock on
    counted = {key: one.outcome[key] for key in _COUNTED if key in one.outcome}
    seen.measured = (
        counted
        | one.memory
        | dict(done.outside)
        | dict(done.cycles)
        | _shared_core(one, done.setting)
        | _figures(windows)
        | {
            "block": block.id,
            "windows": windows,
            "settle_ns": one.lengths.settle_ns,
            "requests": one.requests,
            "held_in_flight": one.cap,
        }
    )
    wall_ns = sum(window["wall_ns"] for window in windows)
    seen.server = {
        "cpu_share": sum(window["server_cpu_ns"] for window in windows) / wall_ns,
        "ceiling_per_s": done.ceiling_per_s,
    }
    seen.wrong = answer_difference(blocks.site_of(block), one.outcome["answer"])
    seen.checks = judge(CHECKS, _evidence(block, one, done.setting, seen))


def _shared_core(one: Running, setting: Setting) -> dict[str, Any]:
    """Say that a core of the arm is the server's, too, where it is."""
    cpus = one.prepared.runtime.cpus
    return {"beside_server": True} if cpus is not None and setting.cpus.server and cpus & setting.cpus.server else {}


_COUNTED = (
    *("pages", "failed_pages", "tries", "peak_in_flight", "service"),
    *("work_units", "work_ns", "worked_pages", "lag"),
)


def _pages(block: BlockTrial, one: Running) -> list[float]:
    """Return how many pages were finished in each window.

    The server counts requests at the same moment as it reads CPU times. With an added latency, a window has few pages,
    and a count is off by up to one. There the rate between the first and the last page is used.
    """
    if not block.workload.mean_latency_ns:
        return [float(each.requests) for each in one.slices]
    return [_extrapolated(each, *seen) for each, seen in zip(one.slices, one.outcome["windows"], strict=True)]


def _extrapolated(each: Slice, pages: int, first_ns: int, last_ns: int) -> float:
    """Return the pages of a window from the times at which the first and the last were finished."""
    if pages < 2 or last_ns == first_ns:
        return float(pages)
    return (pages - 1) * (each.end_ns - each.begin_ns) / (last_ns - first_ns)


def _windows(block: BlockTrial, one: Running) -> list[dict[str, Any]]:
    return [_window(each, pages) for each, pages in zip(one.slices, _pages(block, one), strict=True)]


def _window(each: Slice, pages: float) -> dict[str, Any]:
    values = asdict(each)
    wall_ns = values.pop("end_ns") - each.begin_ns
    del values["requests"], values["rest_ns"]
    return values | {"wall_ns": wall_ns, "pages": round(pages, 3)}


def _figures(windows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the headline figures as ratios of sums, which vary less than means of ratios."""
    cpu_ns, wall_ns, pages = (sum(window[key] for window in windows) for key in ("cpu_ns", "wall_ns", "pages"))
    return {
        "cpu_per_page_ns": round(cpu_ns / max(1, pages)),
        "pages_per_s": pages / wall_ns * 1e9,
        "cpu_share": cpu_ns / wall_ns,
    }


def answer_difference(config: SiteConfig, lines: Sequence[Sequence[Any]]) -> str | None:
    """Describe the difference of an answer from an endless site in one sentence; None when there is none.

    A line is (path of the first lap, laps, status, bytes); see ``laps`` of ``inflight.bench.measure.worker.arm``.
    """
    expected, waiting = lap_answer(config), set(lap_answer(config))
    for path, _, status, size in lines:
        if path not in waiting:
            return f"{path} came twice, skipped a lap, or is not a page of the site"
        waiting.remove(path)
        if (status, size) != expected[path]:
            return f"{path}: expected {described(expected[path])}, got {described((status, size))}"
    return f"{len(waiting)} of {config.pages} pages are missing" if waiting else None


def _evidence(block: BlockTrial, one: Running, setting: Setting, seen: Observation) -> Evidence:
    wanted: dict[str, Any] = {"strategy": one.arm.strategy, "variables": dict(one.prepared.runtime.variables)}
    cpus = one.prepared.runtime.cpus or setting.cpus.client
    if cpus is not None:
        wanted["cpus"] = sorted(cpus)
    wanted |= interpreters.wanted_knobs(one.prepared.runtime)
    alone = cpus is not None and len(cpus) == 1
    return Evidence(
        one.cap,
        block.workload.cpu_ns,
        seen.wrong,
        seen.measured["cpu_share"] if alone else None,
        seen.measured,
        seen.server,
        seen.knobs,
        wanted,
        one.arm.stack == "none",
    )
