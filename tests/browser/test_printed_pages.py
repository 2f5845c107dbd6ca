"""The slides and the sheets of predictions in a real browser: nothing overflows, keys turn slides, pages are few."""

import base64
import re
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Keys

from tests.browser.conftest import Browser
from tools.document.printed import KEY, LECTURE, SHEET

pytestmark = pytest.mark.ci
ROOT = Path(__file__).parents[2]
OVERFLOWS = """
return [...document.querySelectorAll("section")].flatMap((slide, number) => {
    const box = slide.getBoundingClientRect();
    const parts = [...slide.querySelectorAll("*")].map(part => part.getBoundingClientRect());
    const has_room = parts.every(part =>
        part.top >= box.top && part.bottom <= box.bottom && part.left >= box.left && part.right <= box.right);
    const scrolls = [...slide.querySelectorAll("pre")].some(code => code.scrollWidth > code.clientWidth);
    return has_room && !scrolls ? [] : [number + 1];
});
"""
TURNED = "return Math.round(scrollY / innerHeight) + 1"


def printed_pages(browser: Browser) -> int:
    """Return the number of pages that the open page has on paper."""
    pdf = browser.chrome.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    return len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(pdf["data"])))


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080), (1024, 768)])
def test_no_slide_overflows(browser: Browser, width: int, height: int) -> None:
    browser.open(ROOT / LECTURE)
    browser.resize(width, height)

    assert browser.ask(OVERFLOWS) == []
    assert browser.ask("return [...document.images].filter(image => !image.naturalWidth).map(image => image.src)") == []
    assert browser.complaints() == []
    assert browser.fetched_from_elsewhere() == []


def test_arrow_keys_turn_slides(browser: Browser) -> None:
    browser.open(ROOT / LECTURE)
    browser.resize(1280, 720)
    places = []
    for key in (Keys.ARROW_LEFT, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.END, Keys.ARROW_RIGHT):
        ActionChains(browser.chrome).send_keys(key).perform()
        places.append(browser.ask(TURNED))
    slides = browser.ask("return document.querySelectorAll('section').length")

    assert places == [1, 2, 3, 2, slides, slides]


def test_each_slide_is_printed_on_a_page_of_its_own(browser: Browser) -> None:
    browser.open(ROOT / LECTURE)

    assert printed_pages(browser) == browser.ask("return document.querySelectorAll('section').length")


def test_the_sheet_of_predictions_has_at_most_two_pages(browser: Browser) -> None:
    browser.open(ROOT / SHEET)

    assert printed_pages(browser) <= 2
    assert browser.fetched_from_elsewhere() == []


def test_the_key_has_an_answer_for_each_prediction(browser: Browser) -> None:
    questions = []
    for name in (SHEET, KEY):
        browser.open(ROOT / name)
        questions.append(browser.ask("return [...document.querySelectorAll('td:first-child')].map(td => td.innerText)"))
    answers = browser.ask("return [...document.querySelectorAll('td:last-child')].map(td => td.innerText)")

    assert questions[0] == questions[1]
    assert len(answers) > 20
    assert [answer for answer in answers if "|" in answer or answer.endswith(":") or len(answer) < 8] == []
