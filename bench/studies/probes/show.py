"""Where the bytes of a building block go: the figures of the probe ``attribution`` as text."""

from collections.abc import Iterator, Sequence
from typing import Any

from bench.core import units
from bench.core.rows import Row
from bench.present import words

_HEADS = {
    "python": "allocated by Python, by line (tracemalloc)",
    "mappings": "in memory, by kind of mapping (smaps)",
    "tables": "page tables, and stacks in the kernel",
    "kernel": "objects of the kernel, by slab cache (slabinfo; both ends of a connection)",
}


def attribution_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Return the lines of the text, block by block; none when no row is of this probe."""
    found = [row for row in rows if row.kind == "probe" and row.workload["probe"] == "attribution" and row.valid]
    for block in dict.fromkeys(row.workload["arguments"].get("block", "thread") for row in found):
        yield f"where the bytes of one {words.plain(block)} go"
        own = [row for row in found if row.workload["arguments"].get("block", "thread") == block]
        for look, head in _HEADS.items():
            for row in own:
                if row.workload.arguments["look"] == ("python" if look == "python" else "outside"):
                    yield f"  {head}, mean of {units.count(row.measured.n)}"
                    yield from _pieces(row.measured[look])
        yield ""


def _pieces(pieces: list[list[Any]] | None) -> Iterator[str]:
    if pieces is None:
        yield f"    {'unknown':>9}  this system does not tell, or not to this user"
        return
    for what, size in pieces:
        yield f"    {units.size(size):>9}  {words.plain(what, 100)}"
    yield f"    {units.size(sum(size for _, size in pieces)):>9}  together"
