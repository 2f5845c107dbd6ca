"""Photograph the pages of the reference runs, as README.md shows them. Needs Chromium and ChromeDriver.

Run it by ``make pictures``, after the reference runs have changed.
"""

import base64
import shutil
import tempfile
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from bench import rows
from bench.present import race, race_page, report_page

HERE = Path(__file__).parent
REFERENCE = HERE.parents[1] / "results" / "reference"
WIDTH = 1100
AT_S = 0.19
"""When the race is photographed: five models have all pages, and the sixth has three."""


def main() -> None:
    """Write both pictures beside this file."""
    with tempfile.TemporaryDirectory() as folder:
        report = report_page.write(newest("quick"), Path(folder) / "report.html")
        raced = race.fragment(rows.read(newest("race")))
        assert raced is not None
        side_by_side = Path(folder) / "race.html"
        side_by_side.write_text(race_page.page(raced, "The race"), encoding="utf-8")
        options = ChromeOptions()
        options.binary_location = shutil.which("chromium") or "chromium"
        for flag in ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"):
            options.add_argument(flag)
        chrome = Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            photograph(chrome, report, "report.png", 1000)
            photograph(chrome, side_by_side, "race.png", 800, f"window.inflightRace.seek({AT_S})")
        finally:
            chrome.quit()


def newest(experiment: str) -> Path:
    """Return the newest reference run of an experiment."""
    return max(REFERENCE.glob(f"*-{experiment}"))


def photograph(chrome: Chrome, page: Path, name: str, height: int, script: str = "") -> None:
    """Write a picture of the top of a page, at twice its size."""
    size = {"width": WIDTH, "height": height, "deviceScaleFactor": 1.5, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chrome.get(page.as_uri())
    chrome.execute_script(script)
    shot = chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    (HERE / name).write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main()
