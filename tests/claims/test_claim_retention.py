"""The share of its best rate that a client keeps at its largest cap, as a figure of a claim."""

import pytest

from inflight.bench.rows.crawls import Crawl
from inflight.bench.rows.records import changed
from inflight.bench.studies.claims.rules.evidence import Figure, Range, Unknown, of_type
from inflight.bench.studies.claims.rules.libraries import kept_by
from tests.claims.made_claim_rows import timed_rows
from tests.made_rows import FAILED


def shares(found: Figure) -> tuple[float, float, float]:
    assert isinstance(found, Range), found
    return found.value, found.low, found.high


def crawls(**caps: tuple[float, ...]) -> list[Crawl]:
    """Make the crawls of a client: pages per second of each round, by cap (``at_16``)."""
    rows = [row for name, own in caps.items() for row in timed_rows("a_client", *own, in_flight=int(name[3:]))]
    return of_type(rows, Crawl)


def test_caps_are_compared_in_the_same_rounds() -> None:
    found = kept_by(crawls(at_200=(100, 300), at_16=(1000, 3000), at_64=(500, 1500)))

    assert shares(found["a_client"]) == pytest.approx((0.1, 0.1, 0.1), rel=0.02)


def test_a_client_that_is_fastest_at_the_largest_cap_keeps_everything() -> None:
    assert shares(kept_by(crawls(at_16=(1, 1), at_64=(2, 2), at_200=(3, 3)))["a_client"]) == (1, 1, 1)


def test_a_client_that_failed_at_the_largest_cap_keeps_an_unknown_share() -> None:
    rows = crawls(at_1=(900, 900), at_16=(1000, 1000), at_64=(500, 500), at_200=(400, 400))
    invalid = [changed(row, checks=(FAILED,)) if row.workload.in_flight == 200 else row for row in rows]

    assert kept_by(of_type(invalid, Crawl))["a_client"] == Unknown("no valid row with 200 in flight")


def test_one_round_has_no_interval_and_so_no_verdict() -> None:
    assert kept_by(crawls(at_16=(2,), at_64=(3,), at_200=(1,)))["a_client"] == Unknown("one round")


def test_a_crawl_that_is_not_valid_does_not_count() -> None:
    rows = crawls(at_16=(1000, 1000, 1000), at_64=(900, 900, 900), at_200=(500, 500, 10))
    invalid = [
        changed(row, checks=(FAILED,)) if (row.round, row.workload.in_flight) == (3, 200) else row for row in rows
    ]

    assert shares(kept_by(of_type(invalid, Crawl))["a_client"])[0] == pytest.approx(0.5)
