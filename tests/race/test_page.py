"""The race as a part of a page: markup that is safe and says all without a script, and data that round-trips."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.race.page import HEADS, fragment, page
from inflight.bench.rows.files import Row, read
from inflight.bench.show.html import Fragment
from tests.race.made_races import runner
from tests.report.parsed_page import check

RACE_RUN = next(Path(__file__).parents[2].glob("results/reference/*-race"))
HOSTILE = ("</script><b>", '"><img onerror=1>', "</style>", "a\x00\x1b[2J\nb", "\ud800", "$tables@", 400 * "x")


def made(rows: list[Row]) -> Fragment:
    found = fragment(rows)
    assert found is not None
    return found


def data(found: Fragment) -> Any:
    return json.loads(found.data)


def lanes(found: Fragment) -> dict[str, Any]:
    return {lane["name"]: lane for lane in data(found)["races"][0]["lanes"]}


def test_the_page_is_whole_and_the_script_finds_every_element_that_it_asks_for() -> None:
    found = made(read(RACE_RUN))
    text = page(found, 'the race of "<here>"')
    parsed = check(text)
    asked = set(re.findall(r'\$\("(\w+)"\)', found.js))

    assert asked
    assert {f"race-{name}" for name in asked} <= {one.attributes.get("id") for one in parsed.elements}
    assert len(re.findall(r"<label[^>]*><span>\w+</span><(?:input|select)", found.html)) == 3, "controls have names"
    assert "<here>" not in text
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacent", "eval(", "fetch(", "http://", "https://"):
        assert forbidden not in found.js


def test_without_a_script_the_table_has_the_result_and_the_data_agrees_with_it() -> None:
    found = made(read(RACE_RUN))
    (race,), html = data(found)["races"], found.html.replace("\xa0", " ").replace("<wbr>", "")
    crawled = {(row.strategy, -(-row.measured.makespan_ns // 1000)) for row in read(RACE_RUN)}

    assert race["pages"] == 300
    assert html.count('scope="col"') == len(HEADS)
    assert [lane["rank"] for lane in race["lanes"]] == [1, 2, 3, 4, 5, 6]
    for lane in race["lanes"]:
        assert f'<th scope="row" class="words">{lane["name"]}</th><td>{lane["rank"]}</td>' in html
        assert f"<td>{lane['end']}</td>" in html
        assert (lane["name"], lane["end_us"]) in crawled
        assert (sum(lane["done"]), len(lane["done"])) == (300, len(lane["flying"]))


def test_an_invalid_lane_says_so_everywhere_and_an_own_stack_is_marked() -> None:
    found = made([runner("bad", invalid=True), runner("good"), runner("aiohttp_client", [0] * 30 + [10], stack="own")])

    assert lanes(found)["bad"]["invalid"].startswith('failed "no listen drops"')
    assert {name: (lane["rank"], lane["own"]) for name, lane in lanes(found).items()} == {
        "bad": (None, False), "good": (1, False), "aiohttp_client": (2, True),
    }  # fmt: skip
    assert '<th scope="row" class="words">bad</th><td>invalid</td>' in found.html


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_text_and_nothing_else(name: str) -> None:
    found = made([runner(one) for one in (name, "callbacks", "thread_pool")])

    assert not set("<>&\u2028\u2029") & set(found.data)
    assert all(one.isprintable() and len(one) <= 40 for one in lanes(found))
    assert len(check(page(found, name)).all("script")) == 2


def test_many_long_lanes_stay_small() -> None:
    caps, long = (1, 10, 100), [*[0] * 20, *[3] * 1500]
    found = made([runner(f"s{n:03}", long, in_flight=cap, sampled=True) for cap in caps for n in range(20)])

    assert len(found.data) < 150_000
    for race in data(found)["races"]:
        assert all(sum(lane["done"]) == race["pages"] for lane in race["lanes"])
