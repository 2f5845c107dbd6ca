"""Test what is said of counts on this machine: planted calls, equal code, totals under load, and what they explain.

    python -m tools.counts planted callbacks          20 comparisons, each with a call planted in another function
    python -m tools.counts same callbacks             50 comparisons of a strategy with itself
    python -m tools.counts repeat                     10 runs of each strategy
    python -m tools.counts fit RUN...                 how well a cost per call explains the CPU time per page
    python -m tools.neighbour --share 1 -- python -m tools.counts repeat    the same beside a process on each core

Each comparison is a command of its own, whose time is printed. docs/ci.md and docs/method.md quote the output.
"""

import ast
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import click

from inflight import strategies
from inflight.bench.rows import files

ROOT = Path(__file__).parents[1]
GIT = ("git", "-c", "user.name=counts", "-c", "user.email=counts@localhost", "-c", "init.defaultBranch=main")
PLANTED = "\n\ndef planted():\n    pass\n"
ONE_THREAD = (
    *("sequential", "callbacks", "epoll_callbacks", "generators", "await_by_hand"),
    *("asyncio_protocol", "native_asyncio", "asyncio_tasks"),
)
"""Models of one thread, to which costs are fitted; with more than 1 in flight, without sequential."""
OF_FIT = ("python_calls_per_page", "c_calls_per_page", "system_calls_per_page")
MIN_CALLS = 0.99
"""Smallest number of calls per page of a function in which a call is planted, and of the planted one."""


@click.group(help=__doc__.partition("\n")[0] if __doc__ else None)
def main() -> None:
    """Choose a test."""


@main.command()
@click.argument("strategy")
@click.option("--times", default=20)
def planted(strategy: str, times: int) -> None:
    """Plant a call in plain functions of the strategy and the core in turn; count how often it is found and named."""
    with tempfile.TemporaryDirectory() as place:
        repository, out = Path(place, "repository"), Path(place, "out")
        shutil.copytree(ROOT / "strategies", repository / "strategies", ignore=shutil.ignore_patterns("__pycache__"))
        git(repository, "init", "--quiet")
        commit(repository)
        functions = functions_per_page(strategy, out)
        Random(1).shuffle(functions)
        detected, times_s = 0, []
        for number in range(times):
            name, calls = functions[number % len(functions)]
            git(repository, "checkout", "--quiet", "--detach", "main")
            path, _, qualified = name.partition(":")
            plant(repository / path, qualified)
            commit(repository)
            result, time_s = ab(f"{strategy}@main", f"{strategy}@HEAD", "--repo", repository, "--out", out)
            times_s.append(time_s)
            verdict = result["verdict"]
            named = {each["name"]: each["b"] - each["a"] for each in result["functions"]}
            detected += verdict == "does more" and abs(named.get(f"{path}:planted", 0) - calls) < 0.1
            click.echo(f"{number + 1:>3}  {name:60} {calls:g} per page: {verdict}, named {named}")
    click.echo(f"{strategy}: {detected} of {times} planted calls found and named, in {spread(times_s)}")


@main.command()
@click.argument("strategy")
@click.option("--times", default=50)
def same(strategy: str, times: int) -> None:
    """Compare a strategy with itself; count the verdicts."""
    with tempfile.TemporaryDirectory() as out:
        results, times_s = zip(*(ab(strategy, strategy, "--out", out) for _ in range(times)), strict=True)
    verdicts = dict(Counter(result["verdict"] for result in results))
    click.echo(f"{strategy} with itself, {times} comparisons: {verdicts}, in {spread(times_s)}")


@main.command()
@click.argument("names", nargs=-1)
@click.option("--times", default=10)
def repeat(names: Sequence[str], times: int) -> None:
    """Count strategies several times; print the lowest and the highest total of each counter."""
    chosen = list(names) or [name for name in strategies.names() if not strategies.describe(name).lack]
    with tempfile.TemporaryDirectory() as place:
        for name in chosen:
            experiment = Path(place, "counts.toml")
            experiment.write_text(f'strategies = ["{name}"]\n[[counts]]\nrepeats = {times}\n', encoding="utf-8")
            out = Path(place, name)
            inflight("run", experiment, "--out", out)
            (folder,) = out.iterdir()
            (row,) = files.read(folder)
            measured = row.measured
            texts = [f"{counter} {bounds(each)}" for counter, each in (measured.totals or {}).items()]
            texts += [f"{counter}: {why}" for counter, why in (measured.lacks or {}).items()]
            click.echo(f"{name:22} {'; '.join([*texts, row.reason or ''])}")


@main.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
def fit(runs: Sequence[Path]) -> None:
    """Fit a cost per call, and a constant, to the CPU time of models of one thread; print what it misses of others.

    Least squares of the relative differences, without negative costs, for each number in flight of each run.
    """
    import numpy as np
    from scipy.optimize import nnls

    for run in runs:
        rows = files.read(run)
        counted = {row.strategy: row.measured for row in rows if row.kind == "counts" and row.valid}
        work = {name: [1.0, *(getattr(each, figure) for figure in OF_FIT)] for name, each in counted.items()}
        for in_flight in sorted({row.workload.in_flight for row in rows if row.kind == "arm"}):
            costs = mean_costs([row for row in rows if row.kind == "arm" and row.workload.in_flight == in_flight])
            fitted = [name for name in ONE_THREAD if name in costs and name in work]
            scale = np.array([costs[name] for name in fitted])
            prices, _ = nnls(np.array([work[name] for name in fitted]) / scale[:, None], np.ones(len(fitted)))
            misses = {name: np.dot(work[name], prices) / costs[name] - 1 for name in costs if name in work}
            texts = [f"{name} {miss:+.0%}{'' if name in fitted else ' (not fitted)'}" for name, miss in misses.items()]
            click.echo(f"{run.name}, {in_flight} in flight: {', '.join(texts)}")


def mean_costs(rows: Sequence[Any]) -> dict[str, float]:
    """Return the mean CPU time per page of each strategy over valid arms, without the control (ns)."""
    costs: dict[str, list[int]] = {}
    for row in rows:
        if row.valid and row.workload.arm.role != "placebo":
            costs.setdefault(row.workload.arm.strategy, []).append(row.measured.cpu_per_page_ns)
    return {name: fmean(each) for name, each in costs.items()}


def bounds(totals: Sequence[int]) -> str:
    """Write the lowest and the highest of some totals, and their difference as a share."""
    low, high = min(totals), max(totals)
    return f"{low:,}" if low == high else f"{low:,} to {high:,} ({(high - low) / high:.2%})"


def spread(seconds: Sequence[float]) -> str:
    """Write the shortest and the longest of some times."""
    return f"{min(seconds):.1f} to {max(seconds):.1f} s each"


def functions_per_page(strategy: str, out: Path) -> list[tuple[str, float]]:
    """Return the plain functions of the strategies that each page calls, with how often."""
    result, _ = ab(strategy, strategy, "--out", out)
    rows = files.read(Path(result["folder"]))
    calls: dict[str, float] = rows[0].measured.python_calls
    ours = {name: count for name, count in calls.items() if name.startswith("strategies/") and count > MIN_CALLS}
    return [(name, count) for name, count in sorted(ours.items()) if is_plain(name)]


def is_plain(name: str) -> bool:
    """Return whether a function is no coroutine and no generator, which count as called when they continue."""
    path, _, qualified = name.partition(":")
    if "<" in qualified:
        return False
    node = node_of((ROOT / path).read_text(encoding="utf-8"), qualified)
    yields = [each for each in ast.walk(node) if isinstance(each, ast.Yield | ast.YieldFrom)]
    return isinstance(node, ast.FunctionDef) and not yields


def node_of(text: str, qualified: str) -> Any:
    """Return the syntax tree of a function."""
    node: Any = ast.parse(text)
    for name in qualified.split("."):
        node = next(each for each in node.body if getattr(each, "name", None) == name)
    return node


def plant(path: Path, qualified: str) -> None:
    """Make a function of a file, given by its qualified name, call one more function."""
    text = path.read_text(encoding="utf-8")
    node = node_of(text, qualified)
    has_docstring = ast.get_docstring(node) is not None
    first = node.body[1 if has_docstring and len(node.body) > 1 else 0]
    lines = text.splitlines(keepends=True)
    lines.insert(first.lineno - 1, f"{' ' * first.col_offset}planted()\n")
    path.write_text("".join(lines) + PLANTED, encoding="utf-8")


def git(folder: Path, *words: str) -> None:
    """Run git in a folder."""
    subprocess.run([*GIT, "-C", str(folder), *words], check=True, stdout=subprocess.DEVNULL)


def commit(folder: Path) -> None:
    """Commit all that is in a folder."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "counts")


def ab(*words: object) -> tuple[dict[str, Any], float]:
    """Compare two sides by their calls; return the verdict, and how many seconds the command took."""
    begin_s = time.monotonic()
    text = inflight("ab", *words, "--metric", "calls", "--json")
    return json.loads(text), time.monotonic() - begin_s


def inflight(*words: object) -> str:
    """Run a command of inflight, and return its output. Raises RuntimeError with its message if it prints none."""
    command = [sys.executable, "-m", "inflight", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    return done.stdout


if __name__ == "__main__":
    main()
