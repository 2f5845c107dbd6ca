"""The page of a run, opened from disk in a real browser: looked at, clicked through, printed, downloaded from."""

import base64
import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import ActionChains

from inflight.bench.rows import files as rows
from inflight.bench.rows import records
from inflight.bench.rows.records import changed
from inflight.bench.show import page as report_page
from inflight.bench.show.folder import Extras
from inflight.bench.show.pictures import SMALL
from tests.browser.conftest import Browser
from tests.made_rows import MACHINE, crawl_row, edited
from tests.outputs import studies_knowing
from tests.patience import until

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
pytestmark = pytest.mark.ci
HOSTILE = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"
SHOWN = "return [...document.querySelectorAll(arguments[0])].filter(e => e.checkVisibility()).length"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the reference race, and the same crawls once more as those of another latency."""
    (reference,) = REFERENCE.glob("*-race")
    folder = tmp_path_factory.mktemp("runs") / reference.name
    shutil.copytree(reference, folder, ignore=shutil.ignore_patterns(rows.PACKED_FILE))
    for row in rows.read(reference):
        rows.append(folder, row)
        other = {"id": f"other/{row.workload.id}", "latency": "40ms", "mean_latency_ns": 40_000_000}
        rows.append(folder, edited(row, trial=f"other/{row.trial}", workload=other))
    return folder


@pytest.fixture(scope="module")
def page(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report_page.write(run, tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    browser.open(page)
    return browser


def race(browser: Browser, what: str) -> Any:
    return browser.ask(f"return window.inflightRace.{what}")


def press(browser: Browser, key: str) -> None:
    """Press a key where the focus is; an element's own send_keys would scroll to it first."""
    ActionChains(browser.chrome).send_keys(key).perform()


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (390, False), (390, True)])
def test_it_fetches_nothing_and_logs_no_error(browser: Browser, page: Path, width: int, dark: bool) -> None:
    browser.open(page, width, dark=dark)
    browser.ask("window.inflightRace.seek(window.inflightRace.duration())")

    assert browser.fetched_from_elsewhere() == []
    assert browser.complaints() == []


def test_its_content_policy_is_in_force(opened: Browser) -> None:
    opened.ask("window.refused = 0; document.addEventListener('securitypolicyviolation', () => window.refused++)")
    for planted in ("script", "style"):
        opened.ask(
            "const e = document.createElement(arguments[0]); e.textContent = arguments[1]; document.body.append(e)",
            planted,
            "window.pwned = 1",
        )
    opened.ask("const i = document.createElement('img'); i.src = 'http://127.0.0.1:9/x'; document.body.append(i)")

    until(lambda: opened.ask("return window.refused") == 3)
    assert all("Content Security Policy" in sentence for sentence in opened.complaints())
    assert opened.ask("return window.pwned") is None


def test_hostile_names_are_text(browser: Browser, tmp_path: Path) -> None:
    made = [
        changed(crawl_row(latency="50ms", in_flight=cap, number=number), strategy=name)
        for name in (HOSTILE, 'x" onload="window.pwned=3', "\N{RIGHT-TO-LEFT OVERRIDE}evil")
        for cap in (1, 10)
        for number in (1, 2)
    ]
    path = tmp_path / "hostile.html"
    path.write_text(
        report_page.page(studies_knowing(made, about=(MACHINE | {"cpu": HOSTILE}, Extras(HOSTILE)))),
        "utf-8",
    )

    browser.open(path)

    assert browser.ask("return window.pwned") is None
    assert browser.complaints() == []
    assert "<script>window.pwned" in browser.ask("return document.body.textContent")


def test_the_race_runs_from_the_start_to_the_places(opened: Browser) -> None:
    assert race(opened, "playing()") is False
    assert {lane["done"] for lane in race(opened, "lanes()")} == {0}

    opened.chrome.find_element("id", "race-play").click()
    until(lambda: race(opened, "time()") > 0 and any(lane["done"] for lane in race(opened, "lanes()")))
    opened.chrome.find_element("id", "race-play").click()

    assert race(opened, "playing()") is False
    stopped = race(opened, "time()")
    assert 0 < stopped < race(opened, "duration()")
    opened.ask("let n = 0; (function frame() { window.frames_ = n++; requestAnimationFrame(frame); })()")
    until(lambda: opened.ask("return window.frames_ > 2"))
    assert race(opened, "time()") == stopped

    opened.ask("window.inflightRace.seek(window.inflightRace.duration())")
    lanes = race(opened, "lanes()")
    assert sum(lane["done"] == lane["pages"] for lane in lanes) >= 2
    assert 1 in {lane["rank"] for lane in lanes}


def test_the_race_obeys_the_keyboard(opened: Browser) -> None:
    opened.ask("document.getElementById('race-table').focus()")
    speed = "document.getElementById('race-speed').value"
    before = opened.ask(f"return {speed}")

    press(opened, "\ue010")  # End
    assert race(opened, "time()") == race(opened, "duration()")
    press(opened, "\ue011")  # Home
    assert race(opened, "time()") == 0
    press(opened, "\ue014")  # right
    assert race(opened, "time()") > 0
    press(opened, "+")
    assert opened.ask(f"return {speed}") != before
    press(opened, "r")
    assert race(opened, "playing()") is True
    opened.ask("document.getElementById('race-play').click()")
    assert race(opened, "playing()") is False
    opened.ask("document.activeElement.blur(); document.getElementById('race').scrollIntoView()")
    press(opened, " ")
    until(lambda: race(opened, "playing()"))
    press(opened, " ")
    until(lambda: not race(opened, "playing()"))


@pytest.mark.parametrize("width", [390, 768, 1200])
def test_the_page_is_as_wide_as_the_screen(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width)

    assert browser.ask("return document.documentElement.scrollWidth") <= width
    wide = browser.ask(
        "return [...document.querySelectorAll('body *')]"
        ".filter(e => e.checkVisibility() && !e.parentElement.closest('.scroll, pre, svg, .race-static, .race-live'))"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    assert wide == []


@pytest.mark.parametrize("width", [390, 768, 1200])
def test_text_in_plots_can_be_read_at_every_width(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width)

    scales = browser.ask(
        "return [...document.querySelectorAll('.panels img')]"
        ".map(e => e.getBoundingClientRect().width / e.naturalWidth)"
    )
    assert scales
    assert min(scales) * SMALL * 96 / 72 >= 10.9


def test_text_has_enough_contrast_in_light_and_dark_mode(browser: Browser, page: Path) -> None:
    for dark in (False, True):
        browser.open(page, dark=dark)
        paper = browser.ask("return getComputedStyle(document.body).backgroundColor")
        assert (luminance(paper) < 0.2) is dark
        for what in ("p", "h1", "td", "a"):
            inks = browser.ask(
                f"return [...document.querySelectorAll('{what}')].filter(e => e.checkVisibility())"
                ".map(e => getComputedStyle(e).color)"
            )
            for ink in set(inks):
                assert contrast(ink, paper) >= 4.5, (what, ink, paper)


def test_it_prints_on_white_pages_without_the_race(opened: Browser) -> None:
    opened.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert opened.ask(SHOWN, "#race-stage") == 0
        assert opened.ask(SHOWN, ".race-static") >= 1
        assert luminance(opened.ask("return getComputedStyle(document.body).backgroundColor")) > 0.9
    finally:
        opened.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    printed = opened.chrome.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    pdf = base64.b64decode(printed["data"])
    assert pdf.startswith(b"%PDF")
    assert 2 <= pdf.count(b"/Type /Page\n") <= 20


def test_without_javascript_all_but_the_moving_race_is_there(browser: Browser, page: Path) -> None:
    browser.chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.open(page)
        tree = browser.chrome.execute_cdp_cmd("Accessibility.getFullAXTree", {})
    finally:
        browser.chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    told = [(role_of(node), name_of(node)) for node in tree["nodes"] if not node.get("ignored")]
    headings = {name for role, name in told if role == "heading"}
    assert {"The answer", "Pictures"} <= headings
    assert not any(role == "button" and name == "Play" for role, name in told)
    pictures = [name for role, name in told if role == "image"]
    assert len(pictures) >= 1
    assert all(len(name) > 20 for name in pictures), "a picture says its finding"


def test_the_raw_rows_can_be_downloaded_from_the_page(opened: Browser, run: Path, tmp_path: Path) -> None:
    opened.chrome.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    opened.ask("document.querySelector('a[download$=\"rows.jsonl.gz\"]').click()")

    until(lambda: list(tmp_path.glob("*.gz")))
    (path,) = tmp_path.glob("*.gz")
    until(lambda: path.stat().st_size > 0)
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    assert [records.read(line) for line in lines] == rows.read(run)


def role_of(node: dict[str, Any]) -> str:
    return str(node.get("role", {}).get("value", ""))


def name_of(node: dict[str, Any]) -> str:
    return str(node.get("name", {}).get("value", ""))


def channels(colour: str) -> list[float]:
    """Return red, green and blue of ``rgb(1, 2, 3)``, between 0 and 1."""
    return [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].replace(",", " ").split()[:3]]


def luminance(colour: str) -> float:
    """Return the relative luminance (WCAG 2.2)."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(colour)]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio (WCAG 2.2)."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)
