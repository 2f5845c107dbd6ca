"""``inflight serve``: the fake server's own command line, under another name."""

import json
import socket
from contextlib import closing
from http.client import HTTPConnection

from tests.cli.command import inflight, running


def test_it_serves_until_ctrl_c() -> None:
    with running("serve", "--port", 0, "--pages", 7, "--delay", "1ms", "--fault", "drip=0.1") as started:
        address = started.read_error_line().split(" at http://")[1].strip().strip("/")
        with closing(HTTPConnection(address)) as client:
            client.request("GET", "/")
            answer = client.getresponse()
            body = answer.read()
        started.interrupt()
        done = started.end()

    assert (answer.status, done.code, done.out) == (200, 0, "")
    assert b'href="/p/' in body
    assert "serving 7 pages" in done.err


def test_it_can_be_told_to_say_its_port_to_a_program() -> None:
    with running("serve", "--port", 0, "--ready-line") as started:
        assert started.process.stdout is not None
        ready = json.loads(started.process.stdout.readline())
        socket.create_connection(("127.0.0.1", ready["port"])).close()
        started.interrupt()

        assert started.end().code == 0


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        done = inflight("serve", "--port", port)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"cannot listen on 127.0.0.1:{port}: ")
    assert done.err.count("\n") == 1


def test_what_makes_no_site_is_refused() -> None:
    for wrong in (["--pages", "0"], ["--delay", "5"], ["--fault", "drop=1"], ["--redirects", "2"], ["--dance"]):
        done = inflight("serve", *wrong)

        assert done.code == 2
        assert "error: " in done.err.splitlines()[-1]
