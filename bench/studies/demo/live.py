"""The demo while it runs: a bar for each strategy on a terminal, a line for each elsewhere."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

from inflight.bench.core import units
from inflight.bench.present.console import wants_live

Tell = Callable[[str, int, int], None]
"""Shows how many pages a strategy has after how many nanoseconds."""


def at_once(in_flight: int) -> str:
    """Say how many pages are asked for at the same time."""
    return "1 page at a time" if in_flight == 1 else f"up to {units.count(in_flight)} pages at a time"


def shown(in_flight: Mapping[str, int], pages: int) -> AbstractContextManager[Tell]:
    """Show the crawls of these strategies on standard error while this lasts."""
    names = {name: f"{name}, {at_once(number)}" for name, number in in_flight.items()}
    return _bars(names, pages) if wants_live(sys.stderr) else nullcontext(_lines(names, pages))


def _lines(names: Mapping[str, str], pages: int) -> Tell:
    """Return a function that prints a line when a strategy begins."""
    begun = set[str]()

    def tell(name: str, _done: int, _elapsed_ns: int) -> None:
        if name not in begun:
            begun.add(name)
            print(f"{names[name]}: fetching {units.count(pages)} pages ...", file=sys.stderr, flush=True)

    return tell


@contextmanager
def _bars(names: Mapping[str, str], pages: int) -> Iterator[Tell]:
    """Draw the bars; remove them in the end. They are drawn only when told, so that no thread disturbs a crawl."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.completed:.0f} of {task.total:.0f} pages", justify="right"),
        TextColumn("{task.fields[seconds]:.1f} s", justify="right"),
    )
    console = Console(file=sys.stderr, highlight=False)
    with Progress(*columns, console=console, auto_refresh=False, transient=True, redirect_stdout=False) as bars:
        console.show_cursor()  # so that a terminal whose program was killed has one
        tasks = {name: bars.add_task(text, total=pages, seconds=0.0) for name, text in names.items()}

        def tell(name: str, done: int, elapsed_ns: int) -> None:
            bars.update(tasks[name], completed=done, seconds=elapsed_ns / 1e9, refresh=True)

        yield tell
