"""The section of limits, whose title is the end of the ramp of threads."""

from typing import Any

import pytest

from inflight.bench.rows.bare import Ceiling, LimitMeasured
from inflight.bench.studies.limits.show import figures, limit_of, sections
from tests.made_rows import bare_row, crawl_row


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        ({"found": 9, "stopped_by": "failure", "bound_by": "a"}, "9 threads, then no more: a"),
        ({"found": 9, "stopped_by": "failure", "bound_by": ["a", "b"]}, "9 threads, then no more: ambiguous: a or b"),
        ({"found": 9, "stopped_by": "failure"}, "9 threads, then no more: a limit without a name"),
        ({"stopped_by": "deadline"}, "An unknown number of threads, stopped by the deadline: no limit was reached"),
    ],
)
def test_the_title_says_what_is_known_of_the_end_of_the_ramp(measured: dict[str, Any], said: str) -> None:
    row = bare_row("limit", "threads", {"resource": "threads", "through_shared": False}, measured)

    assert [section.title for section in sections([row])] == [said]
    (told,) = figures([row])
    assert told.items() >= {"resource": "threads", "valid": True, **measured}.items()


def test_the_lowest_shared_limit_is_the_one_that_was_avoided() -> None:
    ceilings = [
        Ceiling(name=name, most=most, shared=shared, evidence="", remedy="")
        for name, most, shared in (("mine", 1, False), ("far", 3, True), ("near", 2, True))
    ]

    assert limit_of(LimitMeasured(stopped_by="shared limit", ceilings=ceilings)) == "near"


def test_rows_without_limits_have_no_section() -> None:
    assert sections([crawl_row()]) == []
