"""The tables of a run beside throughput: memory, limits, probes, swarms, open loops and clients. Pure."""

from collections.abc import Sequence

from bench.core.rows import Row
from bench.present.table import Table
from bench.studies.clients import show as clients
from bench.studies.limits import show as limits
from bench.studies.memory import show as memory
from bench.studies.open_loop import show as open_loop
from bench.studies.probes import grid as probes
from bench.studies.swarm import show as swarm


def grids(rows: Sequence[Row]) -> list[Table]:
    """Return the tables that the rows allow."""
    found = [
        *memory.grids(rows),
        limits.grid(rows),
        probes.grid(rows),
        *(table for section in swarm.sections(rows) for table in section.tables),
        *(table for section in open_loop.sections(rows) for table in section.tables),
        *(table for section in clients.sections(rows) for table in section.tables),
    ]
    return [grid for grid in found if grid.lines]
