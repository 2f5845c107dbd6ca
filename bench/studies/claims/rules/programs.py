"""The claims tested by small programs: selectors, spinning, races, tracebacks, uncancelled workers. Pure."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from inflight.bench.core import units
from inflight.bench.core.cells import cpu_per_page_ns
from inflight.bench.rows.bare import Probe
from inflight.bench.rows.files import Row
from inflight.bench.studies.claims.rules.evidence import (
    COROUTINES,
    SHARE,
    Figure,
    Range,
    Unknown,
    over_rounds,
    probes,
    ratio,
    value,
    values,
)
from inflight.bench.studies.claims.rules.parts import Part, compared, outcome
from inflight.bench.studies.claims.verdicts import Outcome, Value

GROWS = 3.0
"""Minimum growth of CPU time with idle connections for "does not scale"."""
FLAT = 1.5
"""Maximum growth for "scales": CPython gives epoll_wait() room for one event per descriptor, which costs a little."""
WASTES = 0.5
"""Minimum share of a core that wastes power while waiting."""
RESTS = 0.05
"""Maximum share of a core that counts as idle; waking up costs a little."""
MODELS = ("threads", "threads-locked", "coroutines", "asyncio", "coroutines-yielding")

Said = Any
"""Record of a probe, from bench/rows/probes.py."""


def select_scales(rows: Sequence[Row]) -> Outcome:
    """Judge whether select and poll become slower with idle connections, and epoll does not."""
    growth = {kind: _growth(probes(rows, "selectors", selector=kind)) for kind in ("poll", "epoll")}
    tried = [row for row in probes(rows, "selectors", selector="select") if row.valid]
    stopped = [row for row in tried if row.measured.stopped_by]
    at = min((int(row.workload.arguments["idle"]) for row in stopped), default=None)
    by = min((str(row.measured.stopped_by) for row in stopped), default=None)
    of = "CPU time per page, most idle connections over none"
    parts = [
        compared("poll", growth["poll"], "at least", GROWS, "does not scale", of=of),
        compared("epoll", growth["epoll"], "below", FLAT, of=of),
        Part(
            "select",
            bool(stopped) if tried else None,
            "" if at is None else f"stopped by {by} at {units.count(at)} idle connections",
            rule="is stopped",
            core="does not scale",
        ),
    ]
    idle = max((int(row.workload.arguments["idle"]) for row in probes(rows, "selectors")), default=None)
    return outcome(rows, parts, values("_ratio", growth) | {"idle": idle, "stopped_by": by})


def spin_wastes(rows: Sequence[Row]) -> Outcome:
    """Judge whether polling in a tight loop keeps a core busy while a selector does not."""
    spun = probes(rows, "spin", how="spin")
    spin, rest = (
        over_rounds(some, lambda row: row.measured.cpu_share, SHARE)
        for some in (spun, probes(rows, "spin", how="selector"))
    )
    parts = [
        compared("spinning", spin, "at least", WASTES, "wastes", of="share of a core while it waits"),
        compared("a selector", rest, "below", RESTS, of="share of a core while it waits"),
    ]
    found: dict[str, Value] = {
        "spin_share": value(spin),
        "selector_share": value(rest),
        "factor": _over(spin, rest),
        "attempts": max((row.measured.attempts for row in spun if row.valid), default=None),
    }
    return outcome(rows, parts, found)


def races(rows: Sequence[Row]) -> Outcome:
    """Judge whether check-then-act without a lock fails between threads, and never between yields of coroutines.

    Threads without a failure do not show that it cannot happen; if it happens with a lock, the probe shows nothing.
    """
    own = {model: [row.measured for row in probes(rows, "races", model=model) if row.valid] for model in MODELS}
    most = {model: max((said.duplicates for said in some), default=None) for model, some in own.items()}
    lost = max((said.lost_updates for said in own["threads"]), default=None)
    links = max((said.links_seen for some in own.values() for said in some), default=None)
    threads = True if most["threads"] else False if lost and most["threads-locked"] == 0 else None
    answers = {
        "threads": threads,
        "threads-locked": True if most["threads-locked"] == 0 else None,
        **{model: None if most[model] is None else most[model] == 0 for model in ("coroutines", "asyncio")},
    }
    parts = [
        Part(
            model,
            so,
            "" if (n := most[model]) is None else units.count(n),
            "duplicate fetches",
            "happen" if model == "threads" else "never happen",
            "" if model.startswith("threads") else model,
        )
        for model, so in answers.items()
    ]
    told = {"coroutines that yield in between": most["coroutines-yielding"], "counts lost by threads": lost or None}
    figures = [f"{name}: {units.count(n)}" for name, n in told.items() if n is not None]
    found: dict[str, Value] = {f"{model.replace('-', '_')}_duplicates": n for model, n in most.items()}
    return outcome(rows, parts, found | {"lost_updates": lost, "links": links}, figures)


def stack_ripping(rows: Sequence[Row]) -> Outcome:
    """Judge whether a callback's traceback lacks who started the fetch, and a coroutine's names it."""
    tried = probes(rows, "stack_ripping")
    named: dict[Any, Said] = {row.workload.arguments["strategy"]: row.measured for row in tried if row.valid}
    found: dict[str, Value] = {
        f"{name}_text": named[name].text if name in named else None for name in ("callbacks", *COROUTINES)
    }
    found |= {
        "callbacks_trace": _chain(named.get("callbacks"), "traceback"),
        "callbacks_lost": _chain(named.get("callbacks"), "lost"),
        "generators_trace": _chain(named.get("generators"), "traceback"),
        "asyncio_trace": _chain(named.get("native_asyncio"), "traceback"),
    }
    names = {name: said.names_starter for name, said in named.items()}
    parts = [
        Part("callbacks", _not(names.get("callbacks")), rule="traceback lacks the starter of the fetch", core="loses"),
        *(
            Part(name, names.get(name), rule="traceback names the starter of the fetch", core="keeps")
            for name in COROUTINES
        ),
    ]
    told = (
        f"{name}: {_chain(said, 'traceback')}" + (f" (lost: {', '.join(said.lost)})" if said.lost else "")
        for name, said in sorted(named.items())
    )
    return outcome(tried, parts, found, told)


def cancel_workers(rows: Sequence[Row]) -> Outcome:
    """Judge whether a crawl leaves nothing behind, and whether uncancelled idle workers are reported."""
    tried = [row for row in probes(rows, "cancel_workers") if row.measured.not_applicable is None]
    said: dict[Any, Said] = {}
    for row in tried:
        arguments = row.workload.arguments
        if row.valid:
            said.setdefault((arguments["strategy"], arguments["variant"]), row.measured)
    cancelled = sorted(
        {str(row.workload.arguments["strategy"]) for row in probes(tried, "cancel_workers", variant="cancelled")}
    )
    closed, run = (said.get(("native_asyncio", variant)) for variant in ("left-out", "left-out-run"))
    loop, threads = said.get(("generators", "left-out")), said.get(("thread_pool", "left-out"))
    clean = {name: _not(_is_dirty(said.get((name, "cancelled")))) for name in cancelled}
    parts = [
        Part("loop closed by hand", _complains(closed), _left(closed), "asyncio", "complains", "complains"),
        Part("asyncio.run", _complains(run), _left(run), "asyncio", "complains"),
        *(Part(name, so, rule="cancelled, leaves nothing") for name, so in clean.items()),
    ]
    found: dict[str, Value] = {
        "clean": list(clean.values()).count(True),
        "dirty": ", ".join(name for name, so in clean.items() if so is False) or None,
        "complaint": closed.complaint or None if closed else None,
        "tasks": closed.left and closed.left.tasks if closed else None,
        "threads": threads.left and threads.left.threads if threads else None,
        "ends": None if threads is None else "ends" if threads.ended else "never ends",
        "loop_complaint": loop.complaint or None if loop else None,
    }
    figures = [f"{name}: {_left(one)}" for name, one in (("generators", loop), ("threads", threads)) if one]
    figures += [f"cancelled: {found['clean']} of {len(cancelled)} strategies leave nothing"] if cancelled else []
    return outcome(tried, parts, found, figures)


def _over(one: Figure, other: Figure) -> float | None:
    return one.value / other.value if isinstance(one, Range) and isinstance(other, Range) and other.value else None


def _growth(rows: Sequence[Probe]) -> Figure:
    """Return the ratio of the CPU time per page with the most idle connections to that with none."""
    usable = [row for row in rows if row.valid and row.measured.stopped_by is None]
    idle = sorted({int(row.workload.arguments["idle"]) for row in usable})
    if len(idle) < 2 or idle[0] != 0:
        return Unknown("too few valid rounds")
    return ratio(probes(usable, "selectors", idle=idle[-1]), probes(usable, "selectors", idle=0), cpu_per_page_ns)


def _chain(said: Said | None, key: str) -> str | None:
    """Return functions as text, the caller first."""
    return None if said is None else " > ".join(getattr(said, key)) or "none"


def _not(so: bool | None) -> bool | None:
    return None if so is None else not so


def _complains(said: Said | None) -> bool | None:
    return None if said is None else bool(said.complaint)


def _is_dirty(said: Said | None) -> bool | None:
    """Tell whether threads, tasks, coroutines or descriptors were left; True for an unfinished crawl."""
    return None if said is None else bool(said.complaint) or said.left is None or any(asdict(said.left).values())


def _left(said: Said | None) -> str:
    """Return what happened to uncancelled workers, as text."""
    if said is None:
        return ""
    left = [f"{n} {what} left" for what, n in (asdict(said.left) if said.left else {}).items() if n]
    return ", ".join([said.complaint or "no complaint", *left, *([] if said.ended else ["the process never ends"])])
