"""The expected answer: computed from a seeded site without a crawl, and compared with real crawls."""

from typing import Any

import pytest

from inflight.bench.measure.expected import Answer, difference, expected_answer, root_paths
from inflight.bench.measure.server import Server
from inflight.fake_server.faults import FAULTS
from inflight.fake_server.site import SiteConfig
from inflight.strategies import callbacks
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier


def crawled(fake: Server, config: SiteConfig, roots: int, **options: Any) -> Answer:
    fake.configure(config)
    job = Job(tuple(fake.base + path for path in root_paths(config, roots)), **{"max_in_flight": 5, **options})
    frontier = Frontier(job)
    callbacks.crawl(job, frontier)
    return {page.url.removeprefix(fake.base): (page.status, page.size) for page in frontier.pages()}


def test_without_links_only_the_roots_are_expected() -> None:
    config = SiteConfig(pages=10, links=0, body_bytes=700)

    assert expected_answer(config, 3, 10) == {"/": (200, 700), "/p/1": (200, 700), "/p/2": (200, 700)}
    assert root_paths(config, 3) == ["/", "/p/1", "/p/2"]


SITES = [
    SiteConfig(pages=1, links=0),
    SiteConfig(pages=80, links=3),
    SiteConfig(
        pages=80,
        links=5,
        missing=0.2,
        non_html=0.2,
        redirects=0.3,
        redirect_chain=4,
        body_spread=0.5,
    ),
    SiteConfig(pages=80, links=4, redirects=0.5, redirect_chain=20, redirect_targets=2, seed=7),
    SiteConfig(pages=60, links=4, faults=tuple((kind, 0.1) for kind in FAULTS), drip_ns=1_000_000),
]


@pytest.mark.parametrize("config", SITES)
@pytest.mark.parametrize("roots", [1, 5])
def test_a_real_crawl_has_the_expected_answer(fake: Server, config: SiteConfig, roots: int) -> None:
    roots = min(roots, config.pages)

    got = crawled(fake, config, roots)

    assert difference(expected_answer(config, roots, 10), got) is None


def test_the_crawl_sets_the_limit_of_redirects(fake: Server) -> None:
    for limit in (0, 1, 3):
        got = crawled(fake, SITES[3], 1, max_redirects=limit, max_in_flight=1)
        assert difference(expected_answer(SITES[3], 1, limit), got) is None


RIGHT: Answer = {"/": (200, 10), "/a": (404, 5), "/b": (None, 0)}


@pytest.mark.parametrize(
    ("got", "sentence"),
    [
        (RIGHT, None),
        ({}, "3 pages missing, 0 too many, 0 different; for example /"),
        ({"/": (200, 10), "/b": (None, 0)}, "1 pages missing, 0 too many, 0 different; for example /a"),
        (RIGHT | {"/z": (200, 1)}, "0 pages missing, 1 too many, 0 different; for example /z"),
        (
            RIGHT | {"/": (200, 9)},
            (
                "0 pages missing, 0 too many, 1 different; for example /: "
                "expected status 200 with 10 bytes, got status 200 with 9 bytes"
            ),
        ),
        (
            RIGHT | {"/b": (200, 9)},
            "0 pages missing, 0 too many, 1 different; for example /b: expected a failure, got status 200 with 9 bytes",
        ),
        (
            {"/": (None, 0), "/c": (200, 1)},
            "2 pages missing, 1 too many, 1 different; for example /: expected status 200 with 10 bytes, got a failure",
        ),
    ],
)
def test_a_difference_is_one_sentence_with_one_example(got: Answer, sentence: str | None) -> None:
    assert difference(RIGHT, got) == sentence
