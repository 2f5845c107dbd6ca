"""Which client collapses: retention by the newest run of the preset ``clients``, for docs/clients.md."""

from collections.abc import Sequence
from pathlib import Path

from inflight.bench.core import cells as c
from inflight.bench.core import retention, units
from inflight.bench.core.retention import Retention
from inflight.bench.present import words
from inflight.bench.present.markdown import escaped
from inflight.bench.present.section import table_markdown
from inflight.bench.rows.files import Row
from inflight.bench.studies.throughput import show, title
from tools.document.stored import joined, newest

EXPERIMENT = "clients"


def part(runs: Path, beside: Path) -> str:
    """Return three sentences on the newest run, a picture, and its tables."""
    found = newest(runs, EXPERIMENT)
    sentences = "\n".join(f"- {escaped(sentence)}" for sentence in told(found.rows))
    picture = found.picture("throughput", "Pages per second of each client over fetches in flight", beside)
    tables = [table for one in show.sections(found.rows)[:1] for table in one.tables]
    return joined(sentences, picture, *map(table_markdown, tables), found.provenance)


def told(rows: Sequence[Row]) -> list[str]:
    """Say what each client keeps, which ones failed, and whose CPU time per page grows most."""
    kept = retention.of_rows(rows)
    if not kept:
        return []
    most = max(one.most.in_flight for one in kept)
    to_the_end = [one for one in kept if one.most.in_flight == most]
    others = [one for one in kept if one.most.in_flight < most]
    each = words.listed([f"{one.strategy} {title.kept(one)}" for one in to_the_end])
    first = f"Share of its best throughput that each client keeps with {words.in_flight(most)} (95 %): {each}."
    swept = retention.swept([cell for cell in c.cells(rows) if cell.setting == kept[0].most.setting])
    return [first, *([_stopped(others)] if others else []), f"{title.of_growth(swept)}."]


def _stopped(found: Sequence[Retention]) -> str:
    """Say which clients have no figure with the most in flight, and what they keep at their last one."""
    each = [
        f"{one.strategy} {title.kept(one)} with {units.count(one.most.in_flight)}"
        + (f", and no valid trial with {words.listed([units.count(cap) for cap in one.failed])}" if one.failed else "")
        for one in found
    ]
    return f"Clients without a valid figure there: {'; '.join(each)}."
