"""How the answer of an arm differs from its endless site."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.measure.blocks.run import answer_difference
from inflight.fake_server.site import FIRST_LAP, Site, SiteConfig

SITE = SiteConfig(pages=10, links=3, endless=True, body_spread=0.5)


def line(page: int, laps: int = 3, **other: Any) -> list[Any]:
    """Make the line of a correct page, with these differences."""
    spec = Site(SITE).page(FIRST_LAP * 10 + page)
    values = {"path": spec.path, "status": spec.status, "size": spec.body_bytes} | other
    return [values["path"], laps, values["status"], values["size"]]


WHOLE = [line(page) for page in range(10)]
PATH, SIZE = WHOLE[0][0], WHOLE[0][3]
AFTER = f"/p/{(FIRST_LAP + 1) * 10}"
STRANGE = "came twice, skipped a lap, or is not a page of the site"
MISTAKES = {
    "a page that never came": (WHOLE[1:], "1 of 10 pages are missing"),
    "nothing": ([], "10 of 10 pages are missing"),
    "a page that came twice": ([*WHOLE, line(0, 1)], f"{PATH} {STRANGE}"),
    "a lap behind a gap": ([*WHOLE, line(0, 1, path=AFTER)], f"{AFTER} {STRANGE}"),
    "a first lap that is the second": ([line(0, path=AFTER), *WHOLE[1:]], f"{AFTER} {STRANGE}"),
    "a page of no endless site": ([*WHOLE, line(0, path="/p/3")], f"/p/3 {STRANGE}"),
    "no page at all": ([*WHOLE, line(0, path="/about")], f"/about {STRANGE}"),
    "another status": (
        [line(0, status=404), *WHOLE[1:]],
        f"{PATH}: expected status 200 with {SIZE} bytes, got status 404 with {SIZE} bytes",
    ),
    "another size": (
        [line(0, size=SIZE - 1), *WHOLE[1:]],
        f"{PATH}: expected status 200 with {SIZE} bytes, got status 200 with {SIZE - 1} bytes",
    ),
    "a page that failed": (
        [line(0, status=None, size=0), *WHOLE[1:]],
        f"{PATH}: expected status 200 with {SIZE} bytes, got a failure",
    ),
}


@given(st.permutations(WHOLE), st.lists(st.integers(1, 1000), min_size=10, max_size=10))
def test_whole_laps_in_any_order_are_the_site(lines: list[list[Any]], counts: list[int]) -> None:
    told = [[of, count, *brought] for (of, _, *brought), count in zip(lines, counts, strict=True)]

    assert answer_difference(SITE, told) is None


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_wrong_answer_is_described(mistake: str) -> None:
    lines, words = MISTAKES[mistake]

    assert answer_difference(SITE, lines) == words
