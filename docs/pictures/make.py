"""Photograph the pages of the reference runs, as README.md shows them. Needs Chromium and ChromeDriver.

Run it by ``make pictures``, after the reference runs have changed.
"""

import base64
import shutil
import tempfile
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from inflight.bench.core import rows
from inflight.bench.report import page as report_page
from inflight.bench.studies.race import page as race

HERE = Path(__file__).parent
REFERENCE = HERE.parents[1] / "results" / "reference"
WIDTH, MARGIN = 1100, 16
AT_S = 0.19
"""When the race is photographed: five models have all pages, and the sixth has three."""


def main() -> None:
    """Write both pictures beside this file."""
    with tempfile.TemporaryDirectory() as folder:
        report = report_page.write(newest("quick"), Path(folder) / "report.html")
        raced = race.fragment(rows.read(newest("race")))
        assert raced is not None
        side_by_side = Path(folder) / "race.html"
        side_by_side.write_text(race.page(raced, "The race"), encoding="utf-8")
        options = ChromeOptions()
        options.binary_location = shutil.which("chromium") or "chromium"
        for flag in ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"):
            options.add_argument(flag)
        chrome = Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            photograph(chrome, report, "report.png", "body", 1250)
            photograph(chrome, side_by_side, "race.png", "#race-stage", script=f"window.inflightRace.seek({AT_S})")
        finally:
            chrome.quit()


def newest(experiment: str) -> Path:
    """Return the newest reference run of an experiment."""
    return max(REFERENCE.glob(f"*-{experiment}"))


def photograph(chrome: Chrome, page: Path, name: str, what: str, most: float = 10_000.0, script: str = "") -> None:
    """Write a picture of an element of a page, at most so many pixels of its height, larger than life."""
    size = {"width": WIDTH, "height": 1000, "deviceScaleFactor": 1.5, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chrome.get(page.as_uri())
    chrome.execute_script(script)
    box = chrome.execute_script("return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()", what)
    top, height = max(0.0, box["y"] - MARGIN), min(box["height"] + 2 * MARGIN, most)
    clip = {"x": 0, "y": top, "width": WIDTH, "height": height, "scale": 1}
    shot = chrome.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    (HERE / name).write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main()
