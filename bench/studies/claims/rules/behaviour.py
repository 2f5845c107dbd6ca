"""The claims on behaviour: tracebacks, redirects, workers that nobody cancelled. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any

from bench.core import units
from bench.core.rows import Row
from bench.studies.claims.rules.evidence import Case, is_absent, of_kind, strategies
from bench.studies.claims.rules.outcome import Outcome, Value, Word

COROUTINES = ("generators", "native_asyncio")


def stack_ripping(rows: Sequence[Row]) -> Outcome:
    """Judge whether a callback's traceback lacks who started the fetch, and a coroutine's names it."""
    tried = of_kind(rows, "probe", "stack_ripping")
    named = {_strategy(row): row.measured for row in tried if row.valid}
    values: dict[str, Value] = {
        f"{name}_text": named[name]["text"] if name in named else None for name in ("callbacks", *COROUTINES)
    }
    values |= {
        "callbacks_trace": _chain(named.get("callbacks"), "traceback"),
        "callbacks_lost": _chain(named.get("callbacks"), "lost"),
        "generators_trace": _chain(named.get("generators"), "traceback"),
        "asyncio_trace": _chain(named.get("native_asyncio"), "traceback"),
    }
    case = Case(
        tried,
        "an error planted in the response parser, one fetch in flight",
        values,
        [f"{name}: {_chain(said, 'traceback')}" + _lost(said) for name, said in sorted(named.items())],
        "holds if the callback's traceback does not name the function that started the fetch, and the coroutines' do",
    )
    if not {"callbacks", *COROUTINES} <= set(named):
        return case.undecided("not all of the models came to their error")
    keeps = [name for name in COROUTINES if named[name]["names_starter"]]
    if named["callbacks"]["names_starter"]:
        return case.decided("does not hold here", "the callback's names it")
    verdict: Word = "holds" if len(keeps) == len(COROUTINES) else "holds differently" if keeps else "does not hold here"
    told = "they do" if verdict == "holds" else f"of the coroutines' {', '.join(keeps) or 'none'} does"
    return case.decided(verdict, told)


def redirects_coalesce(rows: Sequence[Row]) -> Outcome:
    """Judge whether a redirect to a page that has been seen is not fetched twice, by each strategy."""
    own = [row for row in of_kind(rows, "memory") if not is_absent(row)]
    good = [row for row in own if row.valid]
    extra = {name: max(_extra_fetches(row) for row in good if row.strategy == name) for name in strategies(good)}
    redirects = max((_redirects(row) for row in good), default=0)
    targets = max((row.workload["site"]["redirect_targets"] for row in own), default=0)
    pages = max((row.measured["pages"] for row in good), default=0)
    twice = [name for name, more in extra.items() if more > 0]
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
    case = Case(
        rows,
        f"{units.count(pages)} URLs, {units.count(redirects)} of them redirects to {units.count(targets)} pages",
        values,
        figures if good else [],
        "holds if the server received one request for each URL, from every strategy",
    )
    unsure = sorted({row.strategy for row in own} - set(extra))
    if not good or not redirects or unsure:
        return case.undecided(f"not known of {', '.join(unsure)}" if unsure else "no redirect was met")
    verdict: Word = "holds" if not twice else "holds differently" if len(twice) < len(extra) else "does not hold here"
    return case.decided(verdict, "it did" if not twice else f"not from {', '.join(twice)}")


def cancel_workers(rows: Sequence[Row]) -> Outcome:
    """Judge whether a crawl leaves nothing alive, and whether idle workers that nobody cancels are complained of."""
    tried = of_kind(rows, "probe", "cancel_workers")
    own = [row for row in tried if row.valid and "not_applicable" not in row.measured]
    cancelled = {_strategy(row): row.measured for row in own if _variant(row) == "cancelled"}
    dirty = sorted(name for name, said in cancelled.items() if _left(said) or said["complaint"])
    closed, run = (_said(own, "native_asyncio", variant) for variant in ("left-out", "left-out-run"))
    threads = _said(own, "thread_pool", "left-out")
    loop = _said(own, "generators", "left-out")
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
    case = Case(
        tried,
        f"a small crawl by {len(cancelled)} strategies, and again with the cancel left out where there is one",
        values,
        figures,
        "holds if a finished crawl leaves nothing, and asyncio complains of idle workers that nobody cancelled",
    )
    missing = sorted({_strategy(row) for row in tried if _variant(row) == "cancelled"} - set(cancelled))
    if closed is None or run is None or missing or not cancelled:
        return case.undecided("not all of the crawls ended")
    if not closed["complaint"]:
        return case.decided("does not hold here", "it does not")
    if dirty:
        return case.decided("holds differently", f"it does, but {', '.join(dirty)} left something")
    if not run["complaint"]:
        told = "it does where the loop is closed by hand, while asyncio.run cancels what is left by itself"
        return case.decided("holds differently", told)
    return case.decided("holds", "both so")


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
