"""``inflight serve``: the fake server, with the options of its own command line."""

import argparse
import json
import shlex
import socket
import ssl
from contextlib import closing
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import urlsplit

import pytest

from inflight.fake_server.config import SiteConfig
from inflight.fake_server.options import OPTIONS, add_options, settings
from tests.cli.command import context_of, running


def test_it_serves_until_ctrl_c() -> None:
    with running("serve", "--port", 0, "--pages", 7, "--latency", "1ms", "--fault", "drip=0.1") as started:
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


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_command_that_it_prints_over_tls_trusts_its_ca(host: str) -> None:
    with running("serve", "--port", 0, "--tls", "--host", host) as started:
        while not (line := started.read_error_line()).startswith("try: "):
            pass
        *command, file, url = shlex.split(line.removeprefix("try: "))
        parts = urlsplit(url)
        context = ssl.create_default_context(cafile=file)
        with closing(HTTPSConnection(parts.netloc, context=context)) as client:
            client.request("GET", parts.path)
            status = client.getresponse().status
        started.interrupt()
        started.end()

    assert (command, status) == (["curl", "-i", "--cacert"], 200)


def test_ready_line_prints_the_port() -> None:
    with running("serve", "--port", 0, "--ready-line") as started:
        assert started.process.stdout is not None
        ready = json.loads(started.process.stdout.readline())
        socket.create_connection(("127.0.0.1", ready["port"])).close()
        started.interrupt()

        assert started.end().code == 0


def test_both_ways_to_serve_have_the_same_options_and_defaults() -> None:
    own = argparse.ArgumentParser()
    add_options(own, OPTIONS)
    with context_of("serve") as context:
        by_click = {name: list(value) if isinstance(value, tuple) else value for name, value in context.params.items()}

    assert by_click == vars(own.parse_args([]))
    assert settings(by_click).site == SiteConfig()
