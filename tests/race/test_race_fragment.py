"""The race as a part of a page: markup that is safe and says all without a script, and data that round-trips."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.present.html import Fragment
from inflight.bench.rows.files import read
from inflight.bench.rows.records import changed
from inflight.bench.studies.race.page import fragment, page
from inflight.bench.studies.race.read import MOST_LANES
from inflight.bench.studies.race.show import HEADS
from tests.made_rows import edited
from tests.race.made_races import runner

RACE_RUN = next(Path(__file__).parents[2].glob("results/reference/*-race"))
HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=1>', "</style>", "]]>", "a\x00\x1b[2J\nb", "\u202egnp", "\ud800",
    "$tables@", "&amp;", "</script ", "a\u2028b", 400 * "x",
)  # fmt: skip
VOID = {"input", "meta", "br", "img", "link"}


class Reader(HTMLParser):
    """Notes elements, attributes and text, and whether every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text.replace("<wbr>", ""))  # where a name may break
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def attributes(self, name: str) -> list[str | None]:
        """Return the values of an attribute, wherever it is."""
        return [attributes[name] for _, attributes in self.elements if name in attributes]


def made(*names: str, **more: Any) -> Fragment:
    found = fragment([runner(name, [0] * (n + 8) + [10], **more) for n, name in enumerate(names)])
    assert found is not None
    return found


@pytest.fixture(scope="module")
def raced() -> Fragment:
    found = fragment(read(RACE_RUN))
    assert found is not None
    return found


def data(found: Fragment) -> Any:
    return json.loads(found.data)


def test_no_race_is_no_fragment() -> None:
    assert fragment([]) is None
    assert fragment([runner("callbacks")]) is None


def test_the_markup_is_whole_and_lets_a_strict_policy_be(raced: Fragment) -> None:
    reader = Reader(raced.html)

    assert reader.open == []
    assert reader.elements[0] == ("section", {"id": "race", "aria-labelledby": "race-title"})
    names = {name for _, attributes in reader.elements for name in attributes}
    assert not {name for name in names if name == "style" or name.startswith("on") or name in {"src", "href"}}
    ids = reader.attributes("id")
    assert len(ids) == len(set(ids))
    assert set(reader.attributes("aria-labelledby")) <= set(ids)
    assert {tag for tag, _ in reader.elements}.isdisjoint({"script", "style", "iframe", "form"})


def test_every_control_is_named(raced: Fragment) -> None:
    named = re.findall(r"<label[^>]*><span>\w+</span><(?:input|select)", raced.html)

    assert len(named) == len(re.findall("<(?:input|select)", raced.html)) == 3
    assert all(re.findall(r"<button[^>]*>\w+</button>", raced.html))


def test_the_script_finds_every_element_that_it_asks_for(raced: Fragment) -> None:
    asked = set(re.findall(r'\$\("(\w+)"\)', raced.js))
    (listed,) = re.findall(r"= \[\s*((?:\"\w+\",?\s*)+)\]\.map\(\$\)", raced.js)
    asked |= set(re.findall(r'"(\w+)"', listed))

    assert asked
    assert {f"race-{name}" for name in asked} <= set(Reader(raced.html).attributes("id"))


def test_the_script_writes_no_markup_and_asks_for_nothing(raced: Fragment) -> None:
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "fetch(",
                      "XMLHttp", "import(", "http://", "https://", 'setAttribute("style', "localStorage"):  # fmt: skip
        assert forbidden not in raced.js
    assert '"use strict"' in raced.js
    assert "</" not in raced.js + raced.css
    assert "url(" not in raced.css
    assert "@import" not in raced.css


def test_without_a_script_the_tables_have_the_result(raced: Fragment) -> None:
    races = data(raced)["races"]
    html = raced.html.replace("\xa0", " ").replace("<wbr>", "")
    tables = re.findall(r'<div class="race-static" data-race="(\d)">(.*?</table>)', html, re.DOTALL)

    assert [int(number) for number, _ in tables] == list(range(len(races)))
    for race, (_, table) in zip(races, tables, strict=True):
        assert race["title"] in table
        assert table.count('scope="col"') == len(HEADS)
        assert table.count('scope="row"') == len(race["lanes"])
        for lane in race["lanes"]:
            assert f'<th scope="row" class="words">{lane["name"]}</th><td>{lane["placed"] or "-"}</td>' in table
            assert lane["finish"] is None or f"<td>{lane['finish']}</td>" in table


def test_the_data_agrees_with_the_rows(raced: Fragment) -> None:
    rows = {
        (row.workload.in_flight, row.workload.latency, row.strategy, -(-row.measured.makespan_ns // 1000))
        for row in read(RACE_RUN)
        if row.kind == "crawl"
    }
    race = data(raced)["races"][0]

    assert (race["title"], race["pages"]) == ("50 ms added latency, 100 in flight", 300)
    finished = [lane for lane in race["lanes"] if lane["finish_us"] is not None]
    assert len(finished) == 6
    for lane in finished:
        assert sum(lane["done"]) == 300
        assert len(lane["done"]) == len(lane["flying"])
        assert (lane["cap"], "50ms", lane["name"], lane["finish_us"]) in rows
    assert race["replay_us"] <= max(lane["end_us"] for lane in race["lanes"])


def test_samples_are_in_the_data_and_their_absence_is_null() -> None:
    lane, *_ = data(made("a", "b", sampled=True))["races"][0]["lanes"]
    assert lane["samples"]["at"][:2] == [10_000, 20_000]
    assert lane["samples"]["rss"][:2] == [21_000, 22_000]
    assert lane["samples"]["cpu"][:2] == [5_000, 10_000]
    assert len({len(values) for values in lane["samples"].values()}) == 1

    lane, *_ = data(made("a", "b"))["races"][0]["lanes"]
    assert (lane["samples"], lane["threads"]) == (None, 1)


def test_cpu_time_that_was_unknown_for_a_while_is_null_then() -> None:
    row = runner("callbacks", (5, 5, 5), sampled=True)
    row.measured.samples.cpu_ns[1] = None

    found = fragment([row, runner("generators", (5, 5, 5))])
    assert found is not None
    lane, *_ = data(found)["races"][0]["lanes"]

    assert lane["samples"]["cpu"] == [5_000, None, 15_000]


def test_long_reasons_of_invalid_lanes_are_shown_whole() -> None:
    reason = "a long sentence about a check, " * 10 + "and its end"
    bad = changed(runner("bad"), checks=[{"name": "long", "verdict": "failed", "detail": reason}])
    found = fragment([bad, runner("good"), runner("other")])
    assert found is not None

    assert "and its end" in found.html
    assert data(found)["races"][0]["lanes"][0]["invalid"].endswith("and its end")


def test_a_client_with_a_stack_of_its_own_is_marked() -> None:
    found = fragment([runner("callbacks"), runner("aiohttp_client", stack="own")])
    assert found is not None

    assert "With an HTTP stack of its own: aiohttp_client." in found.html
    assert [(lane["name"], lane["own"]) for lane in data(found)["races"][0]["lanes"]] == [
        ("callbacks", False), ("aiohttp_client", True),
    ]  # fmt: skip


def test_an_invalid_lane_says_so_everywhere() -> None:
    found = fragment([runner("bad", invalid=True), runner("good"), runner("slow", [0] * 30 + [10])])
    assert found is not None
    lanes = {lane["name"]: lane for lane in data(found)["races"][0]["lanes"]}

    assert lanes["bad"]["invalid"].startswith('failed "server had room"')
    assert (lanes["bad"]["place"], lanes["good"]["place"]) == (None, 1)
    assert '<th scope="row" class="words">bad</th><td>invalid</td>' in found.html
    assert "bad is invalid and has no place" in found.html


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_text_and_nothing_else(name: str) -> None:
    found = made(name, "callbacks", "thread_pool", latency="50ms")

    assert not set("<>&\u2028\u2029") & set(found.data)
    shown = {lane["name"] for lane in data(found)["races"][0]["lanes"]}
    assert {"callbacks", "thread_pool"} < shown
    assert all(one.isprintable() and len(one) <= 40 for one in shown)
    plain = made("plain", "callbacks", "thread_pool")
    assert [tag for tag, _ in Reader(found.html).elements] == [tag for tag, _ in Reader(plain.html).elements]
    assert shown <= set(Reader(found.html).texts)


def test_a_hostile_workload_is_text_too() -> None:
    hostile = "<b>$tables</b>\u2028"
    rows = [runner(name, cut_off=False) for name in ("a", "b")]
    rows = [edited(row, workload={"latency": hostile}) for row in rows]

    found = fragment(rows)

    assert found is not None
    assert "<b>" not in found.html
    assert "<" not in found.data
    assert found.html.count("<table>") == 1


def test_many_long_lanes_stay_small() -> None:
    rows = [
        runner(f"strategy_{n:03}", [*[0] * n, *[3] * 1500], in_flight=cap, sampled=True)
        for cap in (1, 10, 100, 1000)
        for n in range(25)
    ]
    found = fragment(rows)

    assert found is not None
    assert len(found.data) < 150_000
    races = data(found)["races"]
    assert [len(race["lanes"]) for race in races] == 4 * [MOST_LANES]
    for race in races:
        assert all(sum(lane["done"]) == race["pages"] for lane in race["lanes"])
    assert "9 slower strategies are left out." in found.html


def test_a_page_of_its_own_is_whole_and_has_a_policy(raced: Fragment) -> None:
    text = page(raced, 'the race of "<here>"')
    reader = Reader(re.sub(r"<!DOCTYPE html>", "", text))

    assert reader.open == []
    assert [tag for tag, _ in reader.elements].count("h1") == 1
    assert "default-src 'none'" in text
    assert "<here>" not in text
    (block,) = re.findall(r'<script type="application/json" id="race-data">(.*?)</script>', text)
    assert json.loads(block) == data(raced)


def test_every_replay_lasts_ten_seconds_and_says_by_how_much_it_is_slower_or_faster() -> None:
    quick, slow = (
        fragment([runner("callbacks", done), runner("thread_pool", done)])
        for done in ([0] * 9 + [10], [0] * 1999 + [10])
    )
    assert quick is not None
    assert slow is not None
    (one,), (other,) = data(quick)["races"], data(slow)["races"]

    assert (one["replay_us"], other["replay_us"]) == (100_000, 20_000_000)
    assert one["replay_s"] == other["replay_s"] == 10
    assert one["scale"] == "The replay shows 100 ms in 10 s: 100x slower than recorded."
    assert other["scale"] == "The replay shows 20.0 s in 10 s: 2.0x faster than recorded."


def test_lanes_that_end_after_the_replay_are_named() -> None:
    found = fragment([
        runner("callbacks", [0] * 9 + [10]), runner("thread_pool", [0] * 9 + [10]), runner("slow", [0] * 99 + [10])
    ])  # fmt: skip
    assert found is not None
    (race,) = data(found)["races"]

    assert race["replay_us"] == 100_000
    assert race["scale"].endswith("slow (1.00 s) takes longer: what is left at the end of the replay is hatched.")
