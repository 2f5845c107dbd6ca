"""A real Chromium without a window, driven through ChromeDriver: without them these tests fail, and CI with them."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
OWN_SCHEMES = ("file:", "data:", "about:", "blob:")


@dataclass(frozen=True)
class Browser:
    """A browser with one page open at a time, and what it logs."""

    chrome: Any

    def open(self, page: Path, width: int = 1200, *, dark: bool = False) -> None:
        """Open a file as wide as a screen of ``width`` px, and forget what was logged before."""
        self.resize(width)
        wishes = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.chrome.get("about:blank")  # it ends what the page before still asks for
        for log in ("browser", "performance"):
            self.chrome.get_log(log)
        self.chrome.get(page.resolve().as_uri())

    def resize(self, width: int, height: int = 900) -> None:
        """Make the page ``width`` CSS pixels wide, as a phone would: a window cannot be made that narrow."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def ask(self, script: str, *arguments: Any) -> Any:
        """Return what a function body of JavaScript returns."""
        return self.chrome.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        """Return what the console said since the page was opened: errors, warnings, refusals of the content policy."""
        return [entry["message"] for entry in self.chrome.get_log("browser")]

    def fetched_from_elsewhere(self) -> list[str]:
        """Return the addresses that the page asked for, neither inside of itself nor by Chrome's first tab."""
        events = [json.loads(entry["message"])["message"] for entry in self.chrome.get_log("performance")]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        asked = [one["request"]["url"] for one in sent if one["documentURL"].startswith("file:")]
        assert asked, "the log of requests is there: the page itself is in it"
        return [url for url in asked if not url.startswith(OWN_SCHEMES)]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Start the browser, with a profile of its own that goes with it."""
    program, driver = next(filter(None, map(shutil.which, PROGRAMS)), None), shutil.which("chromedriver")
    assert program, "these tests need Chromium (Debian: apt install chromium)"
    assert driver, "these tests need ChromeDriver (Debian: apt install chromium-driver)"
    options = ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = Chrome(options=options, service=Service(driver))
    try:
        yield Browser(chrome)
    finally:
        chrome.quit()
