"""Plain Locust with our locustfile, as a user would start it, against a real fake server."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import psutil
import pytest

from tests.fake_server.running import Running
from tests.patience import until
from tests.ports import free_port
from tests.processes import run_to_end

LOCUSTFILE = Path(__file__).parents[2] / "bench" / "measure" / "swarm" / "locustfile.py"
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("LOCUST_", "PYTHONPATH"))}


def command(*options: object) -> list[str]:
    return [
        sys.executable,
        "-m",
        "locust",
        "-f",
        str(LOCUSTFILE),
        "PageUser",
        "--headless",
        *map(str, options),
    ]


@contextmanager
def browsing(server: Running, *options: object, folder: Path | None = None) -> Iterator["subprocess.Popen[str]"]:
    """Start Locust with a few users that browse until it is stopped."""
    host = f"http://127.0.0.1:{server.port}/"
    few = ("-u", 4, "-r", 100, "--stop-timeout", 1000, "--host", host, "--json", "--only-summary")
    with subprocess.Popen(
        command(*few, *options),
        cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as locust:  # fmt: skip
        try:
            yield locust
        finally:
            locust.kill()


def stopped(locust: "subprocess.Popen[str]") -> tuple[dict[str, dict[str, Any]], str]:
    """Stop Locust as `timeout` does; return the entries of its statistics, and its standard error."""
    locust.terminate()
    out, err = locust.communicate()
    assert "Traceback" not in err, err
    return entries(out), err


def entries(out: str) -> dict[str, dict[str, Any]]:
    """Return the statistics that --json prints, by the names of the entries."""
    return {entry["name"]: entry for entry in json.loads(out)}


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    started = Running("--pages", "150", *getattr(request, "param", ()))
    yield started
    started.stop()


@pytest.mark.ci
@pytest.mark.parametrize("server", [("--redirects", "0.2", "--missing", "0.2")], indirect=True)
def test_it_browses_the_site_and_counts_what_the_server_counts(server: Running, tmp_path: Path) -> None:
    with browsing(server, folder=tmp_path) as locust:
        server.stats_when(lambda stats: stats["requests"] > 200)
        found, err = stopped(locust)

    stats = server.stats()
    assert locust.returncode == 0, err
    assert set(found) == {"/", "/p/[n]"}
    assert sum(entry["num_requests"] for entry in found.values()) == stats["requests"]
    assert sum(entry["total_content_length"] for entry in found.values()) > 0
    assert not any(entry["num_failures"] for entry in found.values())
    assert {"200", "404"} < set(stats["responses_by_status"])  # and redirects
    assert stats["total_connections"] == 4


FAULTY = ("--fault", "truncated=0.4", "--fault", "error-500=0.3", "--fault", "chunked=0.3")


@pytest.mark.ci
@pytest.mark.parametrize("server", [FAULTY], indirect=True)
def test_a_missing_or_broken_answer_is_a_failure(server: Running) -> None:
    with browsing(server) as locust:
        server.stats_when(lambda stats: stats["requests"] > 200)
        found, err = stopped(locust)

    assert locust.returncode == 1
    assert found["/"]["num_failures"] == 0
    assert 0 < found["/p/[n]"]["num_failures"] < found["/p/[n]"]["num_requests"]
    assert "status 500" in err
    assert "Incomplete response" in err


@pytest.mark.ci
def test_a_host_that_is_not_this_machine_is_refused_in_one_sentence() -> None:
    done = run_to_end(command("-u", 1, "-t", "1s", "--host", "http://192.0.2.1:8080"), env=ENVIRONMENT)

    assert done.returncode == 2
    assert "http://192.0.2.1:8080 is not this machine" in done.stderr
    assert "--not-loopback" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.ci
def test_a_host_set_on_the_web_page_is_refused_too() -> None:
    port = free_port()
    options = ["-f", str(LOCUSTFILE), "PageUser", "--web-host", "127.0.0.1", "--web-port", str(port)]
    form = urlencode({"user_count": 1, "spawn_rate": 1, "host": "http://192.0.2.1:8080"}).encode()
    with subprocess.Popen(
        [sys.executable, "-m", "locust", *options], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    ) as locust:
        try:
            until(lambda: listens(port) or locust.poll() is not None)
            assert locust.poll() is None
            with suppress(OSError):
                urlopen(f"http://127.0.0.1:{port}/swarm", form).close()
            _, err = locust.communicate()
        finally:
            locust.kill()

    assert locust.returncode == 2, err
    assert "http://192.0.2.1:8080 is not this machine" in err


@pytest.mark.parametrize(
    ("asked", "address"),
    [
        ((), "127.0.0.1"),
        pytest.param(
            ("--master-bind-host", "127.0.0.2"),
            "127.0.0.2",
            marks=pytest.mark.ci,
        ),
    ],
)
def test_a_master_and_its_page_listen_on_loopback_unless_asked_otherwise(asked: tuple[str, ...], address: str) -> None:
    master_port, web_port = free_port(), free_port()
    ports = ("--master-bind-port", str(master_port), "--web-port", str(web_port))
    with subprocess.Popen(
        [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), "--master", *ports, *asked],
        env=ENVIRONMENT, stderr=subprocess.DEVNULL,
    ) as locust:  # fmt: skip
        try:
            until(lambda: len(listening(locust.pid)) == 2 or locust.poll() is not None)
            found = listening(locust.pid)
        finally:
            locust.kill()

    assert found == {(address, master_port), ("127.0.0.1", web_port)}


def listening(pid: int) -> set[tuple[str, int]]:
    """Return the addresses and ports on which a process listens."""
    connections = psutil.Process(pid).net_connections("tcp")
    return {(one.laddr.ip, one.laddr.port) for one in connections if one.status == psutil.CONN_LISTEN}


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_pure_parts_find_links_and_faults() -> None:
    code = """
from random import Random
from inflight.bench.measure.swarm.page_user import PageResponse, fault_of, name_of, next_path, path_on_host

html = b"<a class='x' href='/p/7'>7</a> <A HREF=\\"/p/8#top\\">8</A> <a href='http://192.0.2.1/p/9'>9</a> "
html += b"<p href='/p/1'>"
at = "http://127.0.0.1:1/p/3"
assert PageResponse(200, None, html).links(at) == ["/p/7", "/p/8"]
assert PageResponse(404, None, html).links(at) == PageResponse(200, "cut", html).links(at) == []
assert PageResponse(302, None, html, "/p/5").links(at) == ["/p/5"]
assert PageResponse(302, None, html, "http://192.0.2.1/").links(at) == []
assert path_on_host(at, "4?a=b") == "/p/4?a=b" and path_on_host(at, "http://[") is None
assert [name_of(path) for path in ("/", "/p/12", "/trap/1")] == ["/", "/p/[n]", "other"]
assert fault_of("/p/1", 200, "5", 5) is fault_of("/p/1", 200, None, 5) is fault_of("/p/1", 404, "5", 5) is None
assert "Content-Length" in fault_of("/p/1", 200, "6", 5)
assert fault_of("/trap/1", 404, "5", 5) == "status 404" and fault_of("/p/1", 500, "5", 5) == "status 500"
assert next_path(["/p/1", "/p/2"], {"/p/2"}, Random(1)) == "/p/1"
assert next_path(["/p/2"], {"/p/2"}, Random(1)) == next_path(["/p/1"], set("abcdefghij"), Random(1)) == "/"
"""
    done = run_to_end([sys.executable, "-c", code])

    assert done.returncode == 0, done.stderr
