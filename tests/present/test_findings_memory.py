"""The titles of limits and claims: what they say of the data, and what they do not dare to say."""

from typing import Any

import pytest

from bench.studies.claims.show import of_claims
from bench.studies.limits.show import limit_of, of_ramp


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        ({"found": 9, "stopped_by": "failure", "bound_by": "a"}, "9 threads, then no more: a is what binds"),
        ({"found": 9, "stopped_by": "failure"}, "9 threads, then no more: a limit without a name is what binds"),
        ({"stopped_by": "deadline"}, "Stopped at an unknown number of threads by the deadline: no limit was reached"),
    ],
)
def test_a_ramp_says_what_is_known_of_its_end(measured: dict[str, Any], said: str) -> None:
    assert of_ramp(measured) == said


def test_the_lowest_shared_limit_is_the_one_that_was_kept_off() -> None:
    ceilings = [
        {"name": "mine", "most": 1, "shared": False},
        {"name": "far", "most": 3, "shared": True},
        {"name": "near", "most": 2, "shared": True},
    ]

    assert limit_of({"stopped_by": "shared limit", "bound_by": None, "ceilings": ceilings}) == "near"


def test_claims_are_counted() -> None:
    assert of_claims([]) == "No claim was tested"
    assert of_claims(["holds"]) == "Of one claim, 1 holds"
    assert of_claims(["holds", "inconclusive", "inconclusive"]) == "Of 3 claims, 1 holds and 2 are inconclusive"
    assert of_claims(["?", "holds"]) == "Of 2 claims, 1 holds and 1 has another verdict"
