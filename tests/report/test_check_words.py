"""Every validity check has its words, and nothing else has."""

from pathlib import Path

from inflight.bench.measure import validity
from inflight.bench.measure.blocks import checks as arm_checks
from inflight.bench.measure.idle import run as block_trials
from inflight.bench.measure.swarm import checks as swarm_checks
from inflight.bench.measure.swarm import open_loop
from inflight.bench.report.check_words import MEANINGS, OLDER

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


def names_in_source() -> set[str]:
    """Return the names in the tables of checks."""
    rooms = (validity, arm_checks, swarm_checks, open_loop, block_trials)
    return {name for room in rooms for name in room.CHECKS}


def test_every_check_has_an_entry_and_no_entry_is_without_a_check() -> None:
    assert set(MEANINGS) == names_in_source() | OLDER


def test_what_only_older_rows_have_is_no_check_any_more() -> None:
    assert not OLDER & names_in_source()
