"""The race as a moving picture: it is an SVG, it ends as the race did, and it can be read without moving."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from inflight.bench.studies.race.read import Race, races
from tests.document.made_runs import store
from tests.race.made_races import BIN_NS, runner
from tools.document import race
from tools.document.stored import DocumentError

FAST, SLOWER, SLOW = (0, 10), (0, 5, 5), (0, 1) * 10
SVG = "{http://www.w3.org/2000/svg}"


def made(**lanes: tuple[int, ...]) -> Race:
    (found,) = races([runner(name, done) for name, done in lanes.items()])
    return found


def keyframes(text: str, name: str) -> list[tuple[float, float]]:
    """Return (percent, scale) of a bar's animation."""
    (body,) = re.findall(rf"@keyframes {name}{{(.*?)}}}}", text)
    return [(float(at), float(scale)) for at, scale in re.findall(r"([\d.]+)%{transform:scaleX\(([\d.]+)\)", body)]


def texts(text: str) -> list[str]:
    return ["".join(one.itertext()) for one in ET.fromstring(text).iter(f"{SVG}text")]  # noqa: S314  (we wrote it)


def test_each_lane_has_its_name_and_its_time_in_the_order_of_the_ends() -> None:
    told = texts(race.drawn(made(generators=SLOWER, callbacks=FAST, sequential=SLOW)))

    at = [told.index(name) for name in ("callbacks", "generators", "sequential")]
    assert at == sorted(at)
    assert [told[place + 1] for place in at] == ["20.0 ms", "30.0 ms", "200 ms"]


def test_the_slow_motion_ends_with_the_last_fast_crawl_and_the_rest_is_hatched() -> None:
    found = made(callbacks=FAST, generators=SLOWER, sequential=SLOW)

    film = race.film_of(found.finishers)
    text = race.drawn(found)

    assert (film.slow_ns, film.end_ns) == (3 * BIN_NS, 20 * BIN_NS)
    assert (film.percent(0), film.percent(film.slow_ns), film.percent(film.end_ns)) == (4.0, 60.0, 94.0)
    assert text.count('fill="url(#h)"') == 1
    assert text.count('class="cover') == 1


def test_a_race_of_equals_has_no_fast_part() -> None:
    text = race.drawn(made(callbacks=FAST, generators=SLOWER))

    assert 'fill="url(#h)"' not in text
    assert 'class="cover' not in text
    assert "faster than real" not in text


def test_a_bar_grows_when_pages_came_and_ends_full() -> None:
    text = race.drawn(made(callbacks=FAST, generators=SLOWER))

    frames = keyframes(text, "b1")
    assert [scale for _, scale in frames] == sorted(scale for _, scale in frames)
    assert frames[0] == (0.0, 0.0)
    assert frames[-1] == (100.0, 1.0)
    assert (34.0, 0.0) in frames, "the first bin, a third of the race, has no page"
    assert (94.0, 1.0) in frames


def test_without_motion_the_end_is_shown() -> None:
    text = race.drawn(made(callbacks=FAST, sequential=SLOW))

    style = text[text.index("<style>") : text.index("</style>")]
    still, _, moving = style.partition("@media (prefers-reduced-motion:no-preference)")
    assert "animation" not in still
    assert moving.count("@keyframes") == style.count("@keyframes") >= 5
    assert "scaleX(0)" in still.partition(".cover")[2], "the cover of what is hatched is gone"


def test_it_lasts_ten_seconds_whatever_it_shows() -> None:
    short, long = (race.drawn(made(callbacks=done, generators=done)) for done in (FAST, (0,) * 99 + (10,)))

    assert all("animation:10s linear infinite" in text for text in (short, long))


def test_hostile_names_are_only_text() -> None:
    (found,) = races([runner("<script>&", FAST), runner("callbacks", SLOWER)])

    assert "<script>&" in texts(race.drawn(found))


def test_red_crawls_take_no_part() -> None:
    (found,) = races([runner("callbacks", FAST), runner("generators", SLOWER), runner("thread_pool", FAST, red=True)])

    assert "thread_pool" not in texts(race.drawn(found))


def test_a_run_without_two_valid_crawls_is_no_race(tmp_path: Path) -> None:
    store(tmp_path / "20260101T0-h-race", [runner("callbacks", FAST), runner("generators", FAST, red=True)])

    with pytest.raises(DocumentError, match="no race with two valid crawls"):
        race.picture(tmp_path)
