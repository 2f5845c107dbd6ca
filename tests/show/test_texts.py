"""The texts: a meaning for every validity check and nothing else, and the glossary."""

from inflight.bench.measure import bare, validity
from inflight.bench.measure.blocks import run as arms
from inflight.bench.measure.swarm import checks as swarm_checks
from inflight.bench.measure.swarm import open_loop
from inflight.bench.show.words import MEANINGS, TEXTS


def test_every_check_has_an_entry_and_what_only_older_rows_have_is_no_check() -> None:
    rooms = (validity, arms, swarm_checks, open_loop, bare)
    names = {name for room in rooms for name in room.CHECKS}

    older = set(TEXTS["older"])
    assert set(MEANINGS) == names | older
    assert not older & names


def test_terms_are_unique_and_in_alphabetical_order() -> None:
    terms = [term.lower() for term in TEXTS["glossary"]]

    assert terms == sorted(set(terms))
