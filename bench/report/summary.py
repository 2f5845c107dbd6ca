"""A run's figures as one JSON value: what ``inflight run --json`` prints."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bench.core import cells as c
from bench.core.cells import Cell
from bench.core.figures import Slope
from bench.core.model import sensitivity
from bench.core.rows import FORMAT, Row
from bench.core.stats import Interval
from bench.studies.decision_map import show as map_table
from bench.studies.decision_map.read import Tile
from bench.studies.memory.summary import memory_json
from bench.studies.open_loop import show as offered_table
from bench.studies.swarm import show as swarm_table
from bench.studies.throughput.read import Contrast, contrasts, placebos


def summary_json(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of a run as JSON values; durations in nanoseconds, sizes in bytes.

    ``format``      the rows' format
    ``runs``        the names of the runs that the rows are of
    ``trials``      how many trials there are: ``planned`` rows, ``valid`` ones, and ``by_status``
    ``strategies``  one object a strategy: ``strategy``, ``stack``, ``trials`` (how many), ``valid`` (how many)
    ``placebo``     null, or by how much the same code, measured twice, differs in CPU per page: ``workload``,
                    ``estimate`` (a ratio), ``low``, ``high`` (its 95 % interval; null: unknown), ``blocks``, ``noisy``
    ``ratios``      one object for each strategy on each workload of blocks, against the reference arm of its blocks:
                    ``strategy``, ``reference``, ``workload``, and of the CPU per page ``estimate``, ``low``, ``high``
                    and ``blocks``, as for the placebo
    ``cells``       one object for each strategy on each timed workload: ``strategy``, ``workload``, ``latency``,
                    ``mean_latency_ns``, ``cpu``, ``in_flight``, ``connection``, ``pages_per_s`` and
                    ``cpu_per_page_ns``. Each of the two is null, or has ``median``, ``low``, ``high``, ``rounds``,
                    ``mean``, ``interval`` ([low, high] of the 95 % t interval over rounds or blocks; null: unknown)
                    and ``valid`` (false: from red trials only); ``pages_per_s`` has ``sensitivity`` too, the range
                    [low, high] of its sensitivity to CPU time (null: from red trials only)
    ``map``         one object for each workload of a run whose crawls differ in latency and in CPU work: ``workload``
                    (latency, CPU work and number in flight in words), ``latency``, ``cpu``, ``in_flight``,
                    ``connection``, ``verdict`` (winner, no significant difference, not known), ``best`` (the fastest,
                    and all that cannot be told from it) and ``ranking`` (``strategy``, ``pages_per_s``, ``behind``:
                    fastest / own)
    ``memory``      one object for each strategy in each setting of memory trials: ``strategy``, ``connection``,
                    ``site``, ``slope`` (null, or ``per_fetch``, ``low``, ``high``, ``intercept``, ``straight``,
                    ``points``, ``sizes``: ``bench.core.figures.Slope``) and ``reason`` (why there is none, or null)
    ``layers``      one object for each building block, and for each strategy in each setting whose tasks were parked or
                    in flight: ``subject``, ``group``, ``connection`` (null for blocks), ``largest_n``, ``slopes`` (by
                    layer, ``all layers`` and ``resident``: null, or as above) and ``reasons`` (why a slope is null)
    ``held``        one object for each strategy at the highest number in flight of each setting: ``strategy``,
                    ``connection``, ``in_flight``, ``valid``, ``reach_ns``, ``reach_cpu_ns``, ``reach_server_cpu_ns``,
                    ``drain_ns``, ``added_bytes`` (all layers), ``server_bytes`` (user memory of the server's
                    process), each the median over the rounds; ``listen_drops``, ``failed_pages`` (the worst of them)
    ``limits``      one object for each limit that was looked for: ``resource``, ``valid``, and what was measured
    ``probes``      one object for each probe: ``probe``, ``arguments``, ``valid``, ``measured``
    ``swarms``      one object for each strategy at each size of a swarm: see ``swarm_table.figures``
    ``offered``     one object for each rate of each place of open loops: ``latency`` or ``target``, ``users``,
                    ``rate_per_s``, ``valid``, ``rounds``; ``offered_per_s``, ``completed_per_s``,
                    ``client_cpu_share``, ``server_cpu_share`` and ``waiting`` (requests due and not sent at the end),
                    each null or with ``median``, ``low``, ``high`` and ``rounds``; ``corrected`` and ``uncorrected``,
                    with ``p50_ns``, ``p90_ns``, ``p99_ns`` and ``p999_ns``, likewise; ``failed`` (in the worst round),
                    ``kept`` (null: not known) and ``why`` (null, or "cannot keep the rate: " and the reason)
    ``red``         one object for each trial that is not valid: ``trial``, ``strategy``, ``status``, ``reason`` and
                    ``failed_checks`` (a list of ``name`` and ``detail``)
    """
    stacks = c.strategies([*c.crawled(rows), *(row for row in rows if row.kind == "swarm")])
    statuses = sorted({row.status for row in rows})
    return {
        "format": FORMAT,
        "runs": sorted({row.run for row in rows}),
        "trials": {
            "planned": len(rows),
            "valid": sum(row.valid for row in rows),
            "by_status": {status: sum(row.status == status for row in rows) for status in statuses},
        },
        "strategies": [_strategy(name, stack, rows) for name, stack in stacks.items()],
        "placebo": _placebo(rows),
        "ratios": [_ratio(one) for one in contrasts(c.crawled(rows))],
        "cells": [_cell(cell) for cell in c.cells(rows, "crawl")],
        "map": _map(rows),
        "memory": _memory(c.cells(rows, "memory")),
        **memory_json(rows),
        "swarms": swarm_table.figures(rows),
        "offered": offered_table.figures(rows),
        "red": [_red(row) for row in rows if not row.valid],
    }


def _strategy(name: str, stack: str, rows: Sequence[Row]) -> dict[str, Any]:
    own = [row for row in rows if row.strategy == name]
    return {"strategy": name, "stack": stack, "trials": len(own), "valid": sum(row.valid for row in own)}


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "strategy": cell.strategy,
        "workload": cell.rows[0].workload["id"],
        "latency": cell.latency,
        "mean_latency_ns": cell.mean_latency_ns,
        "cpu": cell.cpu,
        "in_flight": cell.in_flight,
        "connection": cell.setting.connection,
        "pages_per_s": _throughput(cell),
        "cpu_per_page_ns": _figure(cell, c.cpu_per_page_ns),
    }


def _figure(cell: Cell, read: c.Read) -> dict[str, Any] | None:
    figure = cell.figure(read)
    if figure is None:
        return None
    interval = figure.interval
    return figure.spread.told() | {"mean": interval.estimate, "interval": _bounds(interval), "valid": figure.valid}


def _placebo(rows: Sequence[Row]) -> dict[str, Any] | None:
    found = placebos(contrasts(rows))
    if not found:
        return None
    return _contrast(found[0]) | {"noisy": found[0].is_noisy}


def _ratio(one: Contrast) -> dict[str, Any]:
    return {"strategy": one.arm, "reference": one.reference} | _contrast(one)


def _contrast(one: Contrast) -> dict[str, Any]:
    interval = one.interval
    low, high = _bounds(interval) or (None, None)
    told = {"workload": one.workload["id"], "estimate": interval.estimate, "low": low, "high": high}
    return told | {"blocks": interval.n}


def _bounds(interval: Interval) -> list[float] | None:
    return [interval.low, interval.high] if math.isfinite(interval.high) else None


def _throughput(cell: Cell) -> dict[str, Any] | None:
    figure, found = _figure(cell, c.pages_per_s), sensitivity(cell.valid_rows)
    return None if figure is None else figure | {"sensitivity": None if found is None else [found.low, found.high]}


def _map(rows: Sequence[Row]) -> list[dict[str, Any]]:
    decided = map_table.of_rows(rows)
    return [] if decided is None else [_tile(tile) for tile in decided.tiles]


def _tile(tile: Tile) -> dict[str, Any]:
    point = tile.point
    return {
        "workload": map_table.where(point),
        "latency": point.latency,
        "cpu": point.cpu,
        "in_flight": point.in_flight,
        "connection": point.connection,
        "verdict": tile.verdict,
        "best": list(tile.best),
        "ranking": [
            {"strategy": one.strategy, "pages_per_s": one.per_s, "behind": math.exp(one.behind)} for one in tile.ranking
        ],
    }


def _memory(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    found = []
    for setting in c.settings(cells):
        own = [cell for cell in cells if cell.setting == setting]
        for name in sorted({cell.strategy for cell in own}):
            slope = c.memory_of(own, name)
            found.append(
                {
                    "strategy": name,
                    "connection": setting.connection,
                    "site": setting.site_values(),
                    "slope": asdict(slope) if isinstance(slope, Slope) else None,
                    "reason": None if isinstance(slope, Slope) else slope.reason,
                }
            )
    return found


def _red(row: Row) -> dict[str, Any]:
    failed = [{"name": check.name, "detail": check.detail} for check in row.failed_checks]
    return {
        "trial": row.trial,
        "strategy": row.strategy,
        "status": row.status,
        "reason": row.reason,
        "failed_checks": failed,
    }
