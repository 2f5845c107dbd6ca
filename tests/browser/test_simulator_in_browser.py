"""The simulator in a real browser: its formula is that of the program, its sentences, and a keyboard is enough."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import ActionChains, Keys

from inflight.bench.frame.frame import frame, with_cycles
from inflight.bench.predict.model import Load, models
from inflight.bench.predict.simulator import fragment, simulated
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from tests.browser.conftest import Browser
from tests.made_rows import MS, arm_row, edited
from tests.predict.test_simulator import TWO, US, made
from tools.document.simulator import page

pytestmark = pytest.mark.ci
REFERENCE = Path(__file__).parents[2] / "results" / "reference"
LATENCIES_NS = (0, 100_000, 10_000_000, 80_000_000, 1_000_000_000)
WORKS_NS = (0, 100_000, 10_000_000)


def stored(name: str) -> list[Row]:
    return rows.read(max(REFERENCE.glob(f"*-{name}")))


def data(found: list[Row]) -> dict[str, Any]:
    values = simulated(with_cycles(frame(found), found))
    assert values is not None
    return values


def written(folder: Path, found: list[Row]) -> Path:
    shown = fragment(with_cycles(frame(found), found))
    assert shown is not None
    path = folder / "simulator.html"
    path.write_text(page(shown, "a stored run"), "utf-8")
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
def test_the_script_computes_with_the_formula_of_the_program(browser: Browser, tmp_path: Path, name: str) -> None:
    lines = with_cycles(frame(stored(name)), stored(name))
    plain = lines.query("kind == 'arm' and comparison == '' and cores == 1 and role != 'placebo'")
    known = {model.name: model for model in models(plain)}
    browser.open(written(tmp_path, stored(name)))
    costs = [(model["name"], n) for model in data(stored(name))["models"] for n, *_ in model["costs"]]
    grid = list(product(LATENCIES_NS, WORKS_NS))

    found = browser.ask(
        "const s = window.inflightSimulator, [costs, grid] = arguments;"
        "return costs.map(([name, n]) => grid.map(([latency, work]) => {"
        "  const knee = s.knee(name, latency, work), rate = (number) => s.perS(name, number, latency, work);"
        "  return [rate(n), rate(1.7 * n), knee, rate(knee), rate(knee * 0.99)];"
        "}))",
        [list(one) for one in costs],
        [list(one) for one in grid],
    )

    for (model, number), own in zip(costs, found, strict=True):
        for load, (rate, between, knee, most, less) in zip(map(Load._make, grid), own, strict=True):
            assert rate == pytest.approx(known[model].per_s(number, load)[0])
            assert between == pytest.approx(known[model].per_s(1.7 * number, load)[0])
            assert knee == pytest.approx(known[model].knee(load))
            assert less <= most * 1.001 or load.latency_ns == 0, "the knee is the least number that fills the core"


BENT = made({"callbacks": {1: 40 * US, 10: 10 * US, 1000: 90 * US}, "generators": {100: 100 * US}})


def test_between_measured_numbers_the_cost_is_a_straight_line_in_logarithms(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, BENT))

    rates = browser.ask(
        "return [1, 10, 100, 1000, 5000].map((n) => window.inflightSimulator.perS('callbacks', n, 0, 0))"
    )

    assert [1e9 / rate / US for rate in rates] == pytest.approx([40, 10, 30, 90, 90])


def sentences(browser: Browser, names: list[str], latency_ns: int, work_ns: int, number: int) -> list[str]:
    script = "return window.inflightSimulator.sentences(...arguments)"
    return [
        line.replace("\xa0", " ")
        for line in browser.ask(
            script,
            names,
            latency_ns,
            work_ns,
            number,
        )
    ]


def test_the_result_is_said_in_sentences(browser: Browser, tmp_path: Path) -> None:
    both = ["callbacks", "generators"]
    browser.open(written(tmp_path, made({"callbacks": {100: 10 * US}, "generators": {100: 100 * US}})))

    assert sentences(browser, both, 80 * MS, 100 * US, 100) == [
        (
            "With 80 ms of latency and 100 µs of CPU work per page, the predictions for the 2 models shown are equal "
            "(within 2 %) up to 408 in flight."
        ),
        "With 100 in flight, they are equal: 1,250 pages/s.",
        "callbacks reaches its limit of 9,090 pages/s at 729 in flight, and generators reaches 5,000 pages/s at 401.",
    ]
    assert sentences(browser, both, 0, 0, 1000) == [
        "With no added latency and no CPU work per page, the predictions differ even with 1 fetch in flight.",
        (
            "With 1,000 in flight, callbacks should be the fastest (100,000 pages/s) and generators the slowest "
            "(10,000 pages/s)."
        ),
        "By the formula, one fetch in flight fills the core, because there is no latency to wait for.",
    ]
    assert sentences(browser, both[:1], 10 * MS, 0, 1) == [
        "With 1 in flight, callbacks gets 99.9 pages/s.",
        "callbacks reaches its limit of 100,000 pages/s at 1,010 in flight.",
    ]


JUMPS = [
    arm_row(name, in_flight=number, cpu_per_page_ns=cost * US, pages_per_s=1e6 / cost, number=n)
    for number in (100, 1000)
    for name, many in (("callbacks", [10, 10, 10]), ("thread_pool", [20, 20, 20] if number == 100 else [20, 90, 400]))
    for n, cost in enumerate(many, 1)
]


def test_a_model_whose_blocks_jump_has_a_range_and_is_never_the_slowest(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, JUMPS))

    assert sentences(browser, ["callbacks", "thread_pool"], 0, 0, 1000)[0::2] == [
        "With 1,000 in flight, callbacks gets 100,000 pages/s.",
        "With 1,000 in flight, thread_pool gets 2,500 to 50,000 pages/s: it is unstable above 100 in flight.",
    ]
    assert "slowest (50,000 pages/s)" in sentences(browser, ["callbacks", "thread_pool"], 0, 0, 100)[1]


@pytest.mark.parametrize(
    ("found", "warning", "checked"),
    [
        (stored("map"), "", "measured points that are clearly beyond the knee, with latency or CPU work: median"),
        (stored("quick"), "", "This run measured nothing beyond the knee with latency or CPU work"),
        (TWO, "", "no prediction with these is checked"),
        (
            [edited(row, measured={"pages_per_s": row.measured.pages_per_s / 3.1}) for row in TWO],
            "The predictions differ from this run's measurements by 210 %. Do not rely on them.",
            "Largest error without latency and CPU work, where c was measured: +210.0 %",
        ),
        ([*TWO, *made({"sequential": {1: 30 * US}})], "", "several cores only: sequential."),
    ],
    ids=["a map", "a first look", "nothing to check", "far off", "left out"],
)
def test_the_page_says_how_large_the_error_is(
    browser: Browser, tmp_path: Path, found: list[Row], warning: str, checked: str
) -> None:
    browser.open(written(tmp_path, found))

    assert browser.ask("return document.getElementById('sim-warning').textContent").replace("\xa0", " ") == warning
    assert checked in browser.ask("return document.getElementById('sim-checked').textContent").replace("\xa0", " ")
    loaded = sum(any(point[1:3]) for point in data(found)["points"])
    assert browser.ask("return document.querySelectorAll('#sim-errors tr').length") <= loaded


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
    points = data(stored("quick"))["points"]
    for latency_ns, work_ns in {tuple(point[1:3]) for point in points}:
        opened.ask("window.inflightSimulator.set(arguments[0])", {"latency": latency_ns, "work": work_ns})
        assert opened.ask(marks) == sum(point[1:3] == [latency_ns, work_ns] for point in points)

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
