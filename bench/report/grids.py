"""The tables of a run beside throughput: memory, limits, probes, swarms, open loops and clients. Pure."""

from collections.abc import Sequence

from bench.core.rows import Row
from bench.present.table import Table
from bench.studies.clients import table as clients
from bench.studies.limits import show as limits
from bench.studies.memory import show as memory
from bench.studies.open_loop import show as open_loop
from bench.studies.probes import show as probes
from bench.studies.swarm import show as swarm


def grids(rows: Sequence[Row]) -> list[Table]:
    """Return the tables that the rows allow."""
    found = [
        *memory.grids(rows),
        *(table for one in limits.sections(rows) for table in one.tables),
        *probes.tables(rows),
        *swarm.grids(rows),
        *open_loop.grids(rows),
        *clients.grids(rows),
    ]
    return [grid for grid in found if grid.lines]
