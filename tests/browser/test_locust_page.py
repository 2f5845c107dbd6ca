"""Locust's own page with the locustfile of ours, in a real browser: a run is set up there, started, and seen."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By

from tests.browser.conftest import Browser
from tests.fake_server.running import Running
from tests.patience import until
from tests.ports import free_port

pytestmark = pytest.mark.ci
LOCUSTFILE = Path(__file__).parents[2] / "bench" / "measure" / "swarm" / "locustfile.py"
ROWS = "return [...document.querySelectorAll('table tbody tr')].map(row => row.innerText.split('\\t'))"


@pytest.fixture
def server() -> Iterator[Running]:
    started = Running("--latency", "5ms")
    yield started
    started.stop()


@pytest.fixture
def locust_page(server: Running, tmp_path: Path) -> Iterator[str]:
    """Start Locust with its page, and return the page's address."""
    port = free_port()
    options = [
        "--web-host",
        "127.0.0.1",
        "--web-port",
        str(port),
        "--host",
        f"http://127.0.0.1:{server.port}",
    ]
    command = [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), "PageUser", *options]
    with (tmp_path / "said").open("w+") as said, subprocess.Popen(command, stderr=said, stdout=said) as locust:
        try:
            until(lambda: listens(port))
            yield f"http://127.0.0.1:{port}/"
        finally:
            locust.terminate()
            locust.wait()
        said.seek(0)
        assert "Traceback" not in said.read()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_run_is_set_up_and_started_on_the_page_and_its_requests_are_shown(
    browser: Browser, server: Running, locust_page: str, tmp_path: Path
) -> None:
    chrome = browser.chrome
    chrome.get_log("browser")
    browser.resize(1200, 1600)
    chrome.get(locust_page)
    until(lambda: chrome.find_elements(By.NAME, "pageRate"))
    offered = {element.get_attribute("name") for element in chrome.find_elements(By.CSS_SELECTOR, "input, select")}

    chrome.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
    server.stats_when(lambda stats: stats["requests"] > 20)
    until(lambda: {("GET", "/"), ("GET", "/p/[n]")} <= {tuple(row[:2]) for row in browser.ask(ROWS)})
    chrome.save_screenshot(str(tmp_path / "locust.png"))

    assert {"userCount", "host", "strategy", "inFlight", "pageRate"} <= offered
    assert "notLoopback" not in offered  # a permission is given where Locust is started
    shown = {row[1]: row for row in browser.ask(ROWS)}
    assert all(shown[name][3] == "0" for name in ("/", "/p/[n]"))  # failures
    assert browser.complaints() == []
