"""Which client collapses: retention by the newest run of the preset ``clients``, for README.md."""

from collections.abc import Sequence
from pathlib import Path

from inflight.bench.core import cells as c
from inflight.bench.core import retention, units
from inflight.bench.core.retention import Retention
from inflight.bench.core.rows import Row
from inflight.bench.present import words
from inflight.bench.present.markdown import escaped
from inflight.bench.present.section import folded, table_markdown
from inflight.bench.studies.throughput import show, title
from tools.document.stored import folders, joined, run

EXPERIMENT = "clients"
HEADING = """## Which client collapses

HTTP clients with a stack of their own, in the same blocks (`inflight run clients`; no added latency, so nothing but CPU
time counts). Retention is pages/s with the most fetches in flight over pages/s at the best number in flight:"""


def part(runs: Path, beside: Path) -> str:
    """Return the section of the newest run: three sentences, a picture, folded tables; nothing without a run."""
    found = folders(runs, EXPERIMENT)
    if not found:
        return ""
    newest = run(found[-1])
    sentences = "\n".join(f"- {escaped(sentence)}" for sentence in told(newest.rows))
    picture = newest.picture("throughput", "Pages per second of each client over fetches in flight", beside)
    tables = [table for one in show.sections(newest.rows)[:1] for table in one.tables]
    folded_tables = folded("Figures", "\n\n".join(map(table_markdown, tables))) if tables else ""
    return joined(HEADING, newest.provenance, sentences, picture, folded_tables)


def told(rows: Sequence[Row]) -> list[str]:
    """Say what each client keeps, which ones failed, and whose CPU time per page grows most."""
    kept = retention.of_rows(rows)
    if not kept:
        return []
    most = max(one.most.in_flight for one in kept)
    to_the_end = [one for one in kept if one.most.in_flight == most]
    others = [one for one in kept if one.most.in_flight < most]
    each = words.listed([f"{one.strategy} {title.kept(one)}" for one in to_the_end])
    first = f"With {words.in_flight(most)}, of its best throughput each client keeps (95 %): {each}."
    swept = retention.swept([cell for cell in c.cells(rows) if cell.setting == kept[0].most.setting])
    return [first, *([_stopped(others)] if others else []), f"{title.of_growth(swept)}."]


def _stopped(found: Sequence[Retention]) -> str:
    """Say which clients have no figure with the most in flight, and what they keep at their last one."""
    each = [
        f"{one.strategy} {title.kept(one)} with {units.count(one.most.in_flight)}"
        + (f", and failed with {words.listed([units.count(cap) for cap in one.failed])}" if one.failed else "")
        for one in found
    ]
    return f"Before that many are in flight: {'; '.join(each)}."
