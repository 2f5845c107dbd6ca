"""The verdict of ``tools.crosscheck`` on what a client measured."""

from dataclasses import replace
from typing import Any

import pytest

from inflight.fake_server.site import SiteConfig
from tools.crosscheck import ClientReading, judge

SITE = SiteConfig(delay="50ms")
MS = 1_000_000


def measured(per_s: float = 990.0, **values: Any) -> ClientReading:
    """Make a round of 50 in flight at 50 ms, which let 1,000/s pass; a time of 0.4 ms beyond it makes 992/s."""
    shares = {"client_share": 0.1, "server_share": 0.05}
    given = shares | {"p50_ns": 50.4 * MS, "failed": 0, "requests": 3000} | values
    return ClientReading(per_s, received=given["requests"] or 0, **given)


@pytest.mark.parametrize(
    ("rounds", "verdict"),
    [
        ([measured(990)], "agrees"),
        ([measured(981), measured(700), measured(982)], "agrees"),
        ([measured(900)], "off"),
        ([measured(1080)], "off"),
        ([measured(0.0)], "off"),
        ([measured(965, p50_ns=53 * MS)], "off"),
        ([measured(900, p50_ns=56 * MS)], "off"),
        ([measured(500, client_share=0.99)], "its core is full"),
        ([measured(800, requests=None, expected_per_s=800.0)], "agrees"),
        ([measured(990, failed=7)], "off: 7 failed"),
    ],
)
def test_a_client_is_compared_with_what_the_latency_allows(rounds: list[ClientReading], verdict: str) -> None:
    assert judge(rounds, SITE)[-1] == verdict


def test_a_client_that_counts_more_than_the_server_is_off() -> None:
    assert judge([replace(measured(990), received=2999)], SITE)[-1] == "off: counted 3000, the server 2999"


def test_without_added_latency_nothing_is_compared() -> None:
    assert judge([measured(60_000, client_share=1.0)], SiteConfig(delay="0"))[-1] == "not compared"
