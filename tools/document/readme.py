"""The parts of README.md without its findings: the race, the table of the models, a line on each further page."""

from pathlib import Path

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.present import words
from inflight.bench.present.markdown import code, escaped, row
from inflight.bench.studies.race.read import races
from inflight.bench.studies.throughput import tables
from tools.document import claims, decisions, memory, race, scale
from tools.document.stored import newest

NONE = "-"


def moving_picture(runs: Path, _beside: Path) -> str:
    """Return the race as a picture, and how it was made."""
    run = newest(runs, "race")
    told = race.described(races(run.rows)[0])
    return f"![{escaped(told)}]({race.PICTURE})\n\n<sub>A recorded race. {run.provenance}</sub>"


def models(runs: Path, _beside: Path) -> str:
    """Return a table of the newest ``quick``: a line for each strategy with a throughput, and what its columns are."""
    run = newest(runs, "quick")
    timed = c.cells(run.rows)
    own = [cell for cell in timed if cell.setting == c.settings(timed)[0]]
    costs, rates = tables.costs(own, ""), tables.rates(own, "")
    memory_cells = c.cells(run.rows, "memory")
    cpu = {name: cost for name, cost, _ in costs.cells}
    pages = {name: _last(rates.heads[1:], values) for name, *values in rates.cells}
    kept = {name: words.memory(c.memory_of(memory_cells, name)) for name in pages}
    stacks = c.strategies(run.rows)
    heads = ("strategy", "CPU time per page", f"pages/s ({rates.heads[-1]})", "user memory per fetch in flight")
    lines = [
        row([code(name) + ("" if stacks[name] == "shared" else " \\*"), cpu.get(name, NONE), pages[name], kept[name]])
        for name in pages
        if pages[name] != NONE
    ]
    busy = costs.title.partition(" at ")[2]
    about = (
        f"CPU time per page: {busy}. pages/s: in brackets, the added latency and the number in flight. User memory: "
        "for each additional fetch in flight, without the kernel's part. Figures are means ± half of their 95 % "
        "interval. \\*: an HTTP library with its own parser."
    )
    return "\n".join([row(heads), "|---|---:|---:|---:|", *lines, "", f"<sub>{about} {run.provenance}</sub>"])


def further(runs: Path, _beside: Path) -> str:
    """Return a line with one figure on each page that goes further."""
    lines = {
        "docs/claims.md": f"Are the well-known claims about threads and coroutines true? {_claims(runs)}.",
        "docs/memory.md": f"What does a thread cost? {memory.in_short(runs)}.",
        "docs/scale.md": f"How many fetches can be in flight? {scale.in_short(runs)}.",
        "docs/compare.md": f"Is my change slower, and how often is this answer wrong? {decisions.false_alarms(runs)}.",
    }
    return "\n".join(f"- [{page}]({page}): {escaped(told)}" for page, told in lines.items())


def _claims(runs: Path) -> str:
    """Count the claims that hold."""
    found = claims.report(newest(runs, "claims").folder).of_kind("claim")
    return f"Of {units.count(len(found))} claims, {sum(one.verdict == 'holds' for one in found)} hold on this machine"


def _last(heads: tuple[str, ...], values: list[str]) -> str:
    """Return the figure of the last column, or the last one that there is, with the head of its column."""
    found = [(head, value) for head, value in zip(heads, values, strict=True) if value != NONE]
    head, value = found[-1] if found else (heads[-1], NONE)
    return value if head == heads[-1] else f"{value} ({head})"
