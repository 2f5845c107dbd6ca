"""The simulator in a real browser: its formula is that of the program, and a keyboard is enough."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import ActionChains, Keys

from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.studies.simulator import show
from inflight.bench.studies.simulator.page import fragment, page
from inflight.bench.studies.simulator.read import Load, simulated
from tests.browser.conftest import Browser
from tests.simulator.test_simulator_read import TWO

pytestmark = pytest.mark.ci
REFERENCE = Path(__file__).parents[2] / "results" / "reference"
LATENCIES_NS = (0, 100_000, 10_000_000, 80_000_000, 1_000_000_000)
WORKS_NS = (0, 100_000, 10_000_000)
NUMBERS = (1, 7, 100, 850, 10_000)


def stored(name: str) -> list[Row]:
    return rows.read(max(REFERENCE.glob(f"*-{name}")))


def written(folder: Path, found: list[Row]) -> Path:
    shown = fragment(found)
    assert shown is not None
    path = folder / "simulator.html"
    path.write_text(page(shown, "a stored run"), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Browser:
    browser.open(written(tmp_path, stored("quick")))
    return browser


def press(browser: Browser, *keys: str) -> None:
    ActionChains(browser.chrome).send_keys(*keys).perform()


def setting(browser: Browser) -> Any:
    return browser.ask("return window.inflightSimulator.setting()")


def told(browser: Browser) -> str:
    text: str = browser.ask("return document.getElementById('sim-told').textContent")
    return text


@pytest.mark.parametrize("name", ["quick", "map", "clients"])
def test_the_script_agrees_with_the_program_at_every_setting(browser: Browser, tmp_path: Path, name: str) -> None:
    found = simulated(stored(name))
    assert found is not None
    browser.open(written(tmp_path, stored(name)))
    names = [model.strategy for model in found.models]
    grid = list(product(LATENCIES_NS, WORKS_NS, NUMBERS))

    asked = browser.ask(
        "const s = window.inflightSimulator, [names, grid] = arguments;"
        "return grid.map(([latency, work, n]) => ({"
        "  rates: names.map((name) => s.perS(name, n, latency, work)),"
        "  knees: names.map((name) => s.knee(name, latency, work)),"
        "  told: s.sentences(names, latency, work, n)}))",
        names,
        grid,
    )

    for (latency_ns, work_ns, number), answer in zip(grid, asked, strict=True):
        load = Load(latency_ns, work_ns)
        assert answer["rates"] == pytest.approx([model.per_s(number, load) for model in found.models])
        assert answer["knees"] == pytest.approx([model.knee(load) for model in found.models])
        told = [sentence.replace("\xa0", " ") for sentence in answer["told"]]
        assert told == show.sentences(found.models, load, number)


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (768, True), (390, False)])
def test_it_fetches_nothing_logs_no_error_and_fits_the_screen(
    browser: Browser, tmp_path: Path, width: int, dark: bool
) -> None:
    browser.open(written(tmp_path, stored("quick")), width, dark=dark)
    browser.ask("window.inflightSimulator.set({ latency: 0 })")

    assert browser.fetched_from_elsewhere() == []
    assert browser.complaints() == []
    assert browser.ask("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_arrows_move_the_sliders_and_the_result_follows(opened: Browser) -> None:
    before, sentence = setting(opened), told(opened)
    opened.ask("document.getElementById('sim-latency').focus()")

    press(opened, Keys.ARROW_RIGHT)
    latency = setting(opened)["latency"]
    press(opened, Keys.TAB, Keys.ARROW_RIGHT, Keys.TAB, Keys.END)
    now = setting(opened)

    assert latency > before["latency"]
    assert now["work"] > before["work"]
    assert now["number"] > before["number"]
    assert told(opened) != sentence
    value = opened.ask("return document.getElementById('sim-number').getAttribute('aria-valuetext')")
    assert value == opened.ask("return document.getElementById('sim-number-told').textContent") == f"{now['number']:,}"


def test_measured_points_are_shown_at_their_own_setting_only(opened: Browser) -> None:
    marks = "return document.querySelectorAll('#sim-plot .sim-mark').length"
    found = simulated(stored("quick"))
    assert found is not None
    for load in found.loads:
        opened.ask(
            "window.inflightSimulator.set({ latency: arguments[0], work: arguments[1] })", load.latency_ns, load.work_ns
        )
        assert opened.ask(marks) == sum(point.load == load for point in found.points)

    opened.ask("window.inflightSimulator.set({ latency: 80e6 })")

    assert opened.ask(marks) == 0
    assert "no measured points" in opened.ask("return document.getElementById('sim-key').textContent")


def test_a_model_can_be_hidden_and_the_last_one_too(opened: Browser) -> None:
    boxes = opened.chrome.find_elements("css selector", "#sim-rows input")
    lines = "return document.querySelectorAll('#sim-plot .sim-line').length"
    before = opened.ask(lines)

    boxes[0].send_keys(Keys.SPACE)
    one_less = opened.ask(lines)
    for box in boxes[1:]:
        box.send_keys(Keys.SPACE)

    assert (one_less, opened.ask(lines)) == (before - 1, 0)
    assert told(opened) == "Choose at least one model."
    assert opened.complaints() == []


def test_a_linear_axis_starts_at_zero(opened: Browser) -> None:
    ticks = "return [...document.querySelectorAll('#sim-plot .sim-tick')].map((tick) => tick.textContent)"
    assert "0" not in opened.ask(ticks)

    opened.ask("document.getElementById('sim-log').focus()")
    press(opened, Keys.ARROW_RIGHT)

    assert "0" in opened.ask(ticks)


def test_without_a_script_there_is_a_table_and_no_slider(browser: Browser, tmp_path: Path) -> None:
    path = written(tmp_path, TWO)
    browser.chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.open(path)
        shown = browser.chrome.find_element("css selector", "#simulator .sim-static table").is_displayed()
        slider = browser.chrome.find_element("id", "sim-latency").is_displayed()
    finally:
        browser.chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    assert shown
    assert not slider
