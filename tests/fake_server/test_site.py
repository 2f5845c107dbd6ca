"""The site is a pure function of its config, and every page of it can be reached."""

import hashlib
import json
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.fake_server.faults import FAULTS
from inflight.fake_server.site import Site, SiteConfig

SITES = tomllib.loads(Path(__file__).with_name("sites.toml").read_text("utf-8"))


@st.composite
def configs(draw: st.DrawFn) -> SiteConfig:
    a, b, c = sorted(draw(st.lists(st.floats(0, 1), min_size=3, max_size=3)))
    return SiteConfig(
        seed=draw(st.integers(0, 2**64 - 1)),
        pages=draw(st.sampled_from([1, 2, 3, 4, 7, 30, 100])),
        links=draw(st.sampled_from([1, 2, 3, 10, 40])),
        body_bytes=draw(st.sampled_from([0, 400, 3000])),
        body_spread=draw(st.sampled_from([0.0, 0.5, 1.0])),
        redirects=a,
        missing=b - a,
        non_html=c - b,
        redirect_chain=draw(st.sampled_from([1, 2, 3, 12])),
        redirect_targets=draw(st.sampled_from([0, 1, 3])),
        delay=draw(st.sampled_from(["0", "exponential 5ms"])),
        faults=draw(st.sampled_from([(), (("drip", 0.5),), (("chunked", 0.3), ("error-500", 0.3))])),
    )


def reached(site: Site) -> set[int]:
    seen, waiting = {0}, [0]
    while waiting:
        page = site.page(waiting.pop())
        hop = [] if page.location is None else [number(site, page.location)]
        found = {*page.links, *hop} - seen
        seen |= found
        waiting += found
    return seen


def number(site: Site, path: str) -> int:
    n = site.number(path)
    assert n is not None
    return n


@given(configs())
def test_every_page_is_reachable_from_the_root(config: SiteConfig) -> None:
    site = Site(replace(config, faults=()))

    assert reached(site) == set(range(config.pages))


@given(configs())
def test_each_kind_has_its_rounded_share_and_page_0_is_html(config: SiteConfig) -> None:
    site = Site(config)

    kinds: Counter[str] = Counter(site.page(n).kind for n in range(config.pages))

    room = config.pages - 1
    for kind, share in (
        ("redirect", config.redirects),
        ("missing", config.missing),
        ("other", config.non_html),
    ):
        wished = min(room, round(share * config.pages))
        assert kinds[kind] == wished
        room -= wished
    assert site.page(0).kind == "html"


@given(configs())
def test_the_same_config_gives_the_same_pages(config: SiteConfig) -> None:
    one, two = Site(config), Site(SiteConfig.from_dict(json.loads(json.dumps(config.to_dict()))))

    backwards = [two.render(n) for n in reversed(range(config.pages))]

    assert [one.render(n) for n in range(config.pages)] == backwards[::-1]


@given(configs())
def test_a_body_has_the_size_and_the_links_that_its_page_says(config: SiteConfig) -> None:
    site = Site(config)

    for n in range(config.pages):
        page, body = site.render(n)
        assert (page, body) == (site.page(n), site.body(n))
        assert page.body_bytes == len(body)
        assert page.number == n
        assert site.number(page.path) == n
        if page.kind == "html":
            assert body.count(b"href=") == body.count(b'href="/trap') + len(page.links)
            assert all(f'<a href="{site.url_path(m)}">'.encode() in body for m in page.links)


@given(configs())
def test_html_pages_link_to_distinct_other_pages_but_never_into_a_chain(config: SiteConfig) -> None:
    site = Site(replace(config, faults=()))

    pages = [site.page(n) for n in range(config.pages)]

    inner = {number(site, p.location) for p in pages if p.location and p.kind == "redirect"}
    inner = {n for n in inner if pages[n].kind == "redirect"}
    for page in pages:
        assert len(set(page.links)) == len(page.links)
        assert page.number not in page.links
        assert not inner & set(page.links)


@pytest.mark.parametrize("case", SITES["graph"], ids=lambda case: str(case["site"]))
def test_the_links_of_a_site_are_the_same_for_ever(case: dict[str, Any]) -> None:
    """Stored runs rely on it. The digests were computed before the links of a page were found in linear time."""
    graph = Site(SiteConfig(**case["site"])).graph
    links = hashlib.sha256()

    for n in range(0, graph.html, case["every"]):
        links.update(f"{n}:{graph.links(n)}\n".encode())

    assert links.hexdigest()[:16] == case["digest"]


def test_a_site_without_links_has_pages_all_the_same() -> None:
    site = Site(SiteConfig(pages=10, links=0))

    assert [site.page(n).links for n in range(10)] == [()] * 10


def test_chains_have_the_length_asked_for_and_end_at_distinct_html_pages() -> None:
    site = Site(SiteConfig(pages=100, redirects=0.3, redirect_chain=3))
    pages = [site.page(n) for n in range(100)]
    targets = {p.location for p in pages if p.kind == "redirect"}
    heads = [p for p in pages if p.kind == "redirect" and p.path not in targets]

    ends = []
    for head in heads:
        hops, page = 0, head
        while page.location is not None:
            hops, page = hops + 1, pages[number(site, page.location)]
        assert hops == 3
        ends.append(page)

    assert len(heads) == 10
    assert {end.kind for end in ends} == {"html"}
    assert len({end.number for end in ends}) == 10
    assert {p.status for p in pages if p.kind == "redirect"} <= {301, 302, 303, 307, 308}


def test_all_redirects_may_share_one_target() -> None:
    site = Site(SiteConfig(pages=100, redirects=0.5, redirect_targets=1))

    targets = {site.page(n).location for n in range(100)} - {None}

    assert len(targets) == 1
    assert targets != {"/"}


@pytest.mark.parametrize(
    "path", ["", "/p/", "/p/0", "/p/007", "/p/-1", "/p/10", "/p/1 ", "/p/1?a", "/q/1", "/p/\u0661"]
)
def test_what_is_no_page_has_no_number(path: str) -> None:
    assert Site(SiteConfig(pages=10)).number(path) is None


def test_a_page_beyond_the_site_is_an_error() -> None:
    with pytest.raises(IndexError, match="pages 0 to 9"):
        Site(SiteConfig(pages=10)).page(10)


def test_faults_fall_on_their_share_of_the_pages_that_can_fail_and_never_on_the_root() -> None:
    site = Site(
        SiteConfig(
            pages=4000,
            redirects=0.25,
            missing=0.25,
            faults=(("drip", 0.5), ("error-500", 0.25)),
        )
    )
    pages = [site.page(n) for n in range(4000)]

    faults = Counter(page.fault for page in pages)

    assert pages[0].fault is None
    assert {page.fault for page in pages if page.kind in {"redirect", "missing"}} == {None}
    assert 900 < faults["drip"] < 1100
    assert 400 < faults["error-500"] < 600
    assert {p.status for p in pages if p.fault == "error-500"} == {500}
    assert {p.links for p in pages if p.fault == "error-500"} == {()}


def test_sizes_and_delays_spread_as_asked() -> None:
    site = Site(
        SiteConfig(
            pages=2000,
            links=1,
            body_bytes=1000,
            body_spread=0.5,
            delay="uniform 10ms 90ms",
        )
    )
    pages = [site.page(n) for n in range(2000)]

    sizes, delays = sorted(p.body_bytes for p in pages), sorted(p.delay_ns for p in pages)

    assert 500 <= sizes[0] < 520
    assert 1480 < sizes[-1] <= 1500
    assert 10_000_000 <= delays[0] < 11_000_000
    assert 45_000_000 < delays[1000] < 55_000_000


@pytest.mark.parametrize("case", SITES["invalid"], ids=lambda case: str(case["site"]))
def test_an_invalid_site_is_refused_in_one_sentence(case: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        SiteConfig.from_dict(case["site"])

    assert case["message"] in str(refused.value)
    assert "\n" not in str(refused.value)


def test_shares_that_are_one_together_but_for_rounding_are_accepted() -> None:
    assert SiteConfig(redirects=0.7, missing=0.2, non_html=0.1).pages == 1000


def test_the_order_in_which_faults_are_written_changes_nothing() -> None:
    one = SiteConfig.from_dict({"faults": {"drip": 0.1, "reset-mid": 0.2, "chunked": 0}})
    two = SiteConfig(faults=(("reset-mid", 0.2), ("drip", 0.1)))

    assert one == two
    assert one.to_dict()["faults"] == {"reset-mid": 0.2, "drip": 0.1}


def test_every_fault_says_whether_a_client_survives_it() -> None:
    fatal = {kind for kind, fault in FAULTS.items() if not fault.survivable}

    assert fatal == {"reset-before", "reset-mid", "truncated", "malformed-header"}
