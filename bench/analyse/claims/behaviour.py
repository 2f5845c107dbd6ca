"""The claims on behaviour: tracebacks, redirects, workers that nobody cancelled. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any

from bench.analyse.claims.evidence import (
    decided,
    inconclusive,
    of_kind,
    strategies,
    why_too_little,
)
from bench.analyse.claims.outcome import Outcome, Value, Word
from bench.present import units
from bench.rows import Row

COROUTINES = ("generators", "native_asyncio")


def stack_ripping(rows: Sequence[Row]) -> Outcome:
    """Judge whether a callback's traceback lacks who started the fetch, and a coroutine's names it."""
    own = [row for row in of_kind(rows, "probe", "stack_ripping") if row.valid]
    named = {str(row.workload["arguments"]["strategy"]): row.measured for row in own}
    region = "an error planted in the response parser, one fetch in flight"
    values: dict[str, Value] = {
        f"{name}_text": named[name]["text"] if name in named else None for name in ("callbacks", *COROUTINES)
    }
    values |= {
        "callbacks_trace": _chain(named.get("callbacks"), "traceback"),
        "callbacks_lost": _chain(named.get("callbacks"), "lost"),
        "generators_trace": _chain(named.get("generators"), "traceback"),
        "asyncio_trace": _chain(named.get("native_asyncio"), "traceback"),
    }
    figures = [f"{name}: {_chain(said, 'traceback')}" + _lost(said) for name, said in sorted(named.items())]
    rule = "holds if the callback's traceback does not name the function that started the fetch, and the coroutines' do"
    if not {"callbacks", *COROUTINES} <= set(named):
        tried = of_kind(rows, "probe", "stack_ripping")
        return inconclusive(tried, region, values, figures="; ".join(figures))
    keeps = [name for name in COROUTINES if named[name]["names_starter"]]
    if named["callbacks"]["names_starter"]:
        return decided("does not hold here", figures, region, values, f"{rule}; the callback's names it")
    verdict: Word = "holds" if len(keeps) == len(COROUTINES) else "holds differently" if keeps else "does not hold here"
    told = "they do" if verdict == "holds" else f"of the coroutines' {', '.join(keeps) or 'none'} does"
    return decided(verdict, figures, region, values, f"{rule}; {told}")


def redirects_coalesce(rows: Sequence[Row]) -> Outcome:
    """Judge whether a redirect to a page that has been seen is not fetched twice, by each strategy."""
    own = [*of_kind(rows, "crawl"), *of_kind(rows, "memory")]
    good = [row for row in own if row.valid]
    extra = {name: max(_extra_fetches(row) for row in good if row.strategy == name) for name in strategies(good)}
    redirects = max((_redirects(row) for row in good), default=0)
    targets = max((row.workload["site"]["redirect_targets"] for row in own), default=0)
    pages = max((row.measured["pages"] for row in good), default=0)
    twice = [name for name, more in extra.items() if more > 0]
    region = f"{units.count(pages)} URLs, {units.count(redirects)} of them redirects to {units.count(targets)} pages"
    values: dict[str, Value] = {
        "redirects": redirects or None,
        "targets": targets or None,
        "pages": pages or None,
        "strategies": len(extra),
        "twice": ", ".join(twice) or None,
        "extra": max(extra.values(), default=None),
    }
    beyond = f"requests beyond one for each of {units.count(pages)} URLs: {units.count(sum(extra.values()))}"
    told = f"{units.count(redirects)} redirects to {units.count(targets)} pages"
    figures = [told, f"{beyond}, by {len(extra)} {'strategy' if len(extra) == 1 else 'strategies'}"]
    rule = "holds if the server received one request for each URL, from every strategy"
    unsure = sorted({row.strategy for row in own} - set(extra) - _absent(own))
    if not good or not redirects or unsure:
        reason = f"not known of {', '.join(unsure)}; {why_too_little(own)}" if unsure else "no redirect was met"
        return inconclusive(own, region, values, reason if good else None, "; ".join(figures) if good else "")
    verdict: Word = "holds" if not twice else "holds differently" if len(twice) < len(extra) else "does not hold here"
    return decided(
        verdict, figures, region, values, f"{rule}; {'it did' if not twice else 'not from ' + ', '.join(twice)}"
    )


def cancel_workers(rows: Sequence[Row]) -> Outcome:
    """Judge whether a crawl leaves nothing alive, and whether idle workers that nobody cancels are complained of."""
    tried = of_kind(rows, "probe", "cancel_workers")
    own = [row for row in tried if row.valid and "not_applicable" not in row.measured]
    cancelled = {_strategy(row): row.measured for row in own if _variant(row) == "cancelled"}
    dirty = sorted(name for name, said in cancelled.items() if _left(said) or said["complaint"])
    closed, run = (_said(own, "native_asyncio", variant) for variant in ("left-out", "left-out-run"))
    threads = _said(own, "thread_pool", "left-out")
    loop = _said(own, "generators", "left-out")
    region = f"a small crawl by {len(cancelled)} strategies, and again with the cancel left out where there is one"
    values: dict[str, Value] = {
        "clean": len(cancelled) - len(dirty),
        "dirty": ", ".join(dirty) or None,
        "complaint": closed["complaint"] or None if closed else None,
        "tasks": (closed["left"] or {}).get("tasks") if closed else None,
        "threads": (threads["left"] or {}).get("threads") if threads else None,
        "ends": None if threads is None else "ends" if threads["ended"] else "never ends",
        "loop_complaint": loop["complaint"] or None if loop else None,
    }
    left_out = {"asyncio, loop closed": closed, "asyncio.run": run, "generators": loop, "threads": threads}
    figures = [f"not cancelled: {name}: {_what(said)}" for name, said in left_out.items() if said]
    figures += [f"cancelled: {values['clean']} of {len(cancelled)} strategies leave nothing"] if cancelled else []
    rule = "holds if a finished crawl leaves nothing, and asyncio complains of idle workers that nobody cancelled"
    missing = sorted({_strategy(row) for row in tried if _variant(row) == "cancelled"} - set(cancelled))
    if closed is None or run is None or missing or not cancelled:
        return inconclusive(tried, region, values, why_too_little(tried), "; ".join(figures))
    if not closed["complaint"]:
        return decided("does not hold here", figures, region, values, f"{rule}; it does not")
    if dirty:
        return decided(
            "holds differently", figures, region, values, f"{rule}; it does, but {', '.join(dirty)} left something"
        )
    if not run["complaint"]:
        reason = f"{rule}; it does where the loop is closed by hand, while asyncio.run cancels what is left by itself"
        return decided("holds differently", figures, region, values, reason)
    return decided("holds", figures, region, values, f"{rule}; both so")


Said = dict[str, Any]


def _chain(said: Said | None, key: str) -> str | None:
    """Write functions, the caller first."""
    return None if said is None else " > ".join(str(name) for name in said[key]) or "none"


def _lost(said: Said) -> str:
    return f" (lost: {', '.join(str(name) for name in said['lost'])})" if said["lost"] else ""


def _extra_fetches(row: Row) -> int:
    return int(row.server["requests"]) - int(row.measured["pages"])


def _redirects(row: Row) -> int:
    return sum(n for status, n in row.server["responses_by_status"].items() if str(status).startswith("3"))


def _absent(rows: Iterable[Row]) -> set[str]:
    return {row.strategy for row in rows if "not installed" in str(row.reason)}


def _strategy(row: Row) -> str:
    return str(row.workload["arguments"]["strategy"])


def _variant(row: Row) -> str:
    return str(row.workload["arguments"]["variant"])


def _said(rows: Iterable[Row], strategy: str, variant: str) -> Said | None:
    found = [row.measured for row in rows if _strategy(row) == strategy and _variant(row) == variant]
    return found[0] if found else None


def _left(said: Said) -> int:
    """Return how many threads, tasks, coroutines and descriptors were left; an unfinished crawl left one thing."""
    return 1 if said["left"] is None else sum(said["left"].values())


def _what(said: Said) -> str:
    """Say what became of workers that nobody cancelled."""
    complaint = f'"{said["complaint"]}"' if said["complaint"] else "no complaint"
    left = [f"{n} {what}" for what, n in (said["left"] or {}).items() if n]
    ending = [] if said["ended"] else ["the process never ends"]
    return ", ".join([complaint, f"{', '.join(left)} left" if left else "nothing left", *ending])
