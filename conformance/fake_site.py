"""The project's fake server as a process, and the expected records of a crawl, computed from the site alone."""

import json
import os
import secrets
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from inflight.fake_server.config import CONTROL_SECRET
from inflight.fake_server.site import PageSpec, Site, SiteConfig
from inflight.strategies.core.page import Page

ERRORS = {
    "reset-before": "connection reset",
    "reset-mid": "connection reset",
    "truncated": "closed early",
    "malformed-header": "malformed response",
}
"""What the faults that no client survives are called."""

MIXED = {
    "seed": 7,
    "pages": 150,
    "links": 6,
    "body_bytes": 700,
    "body_spread": 0.9,
    "redirects": 0.25,
    "redirect_chain": 3,
    "redirect_targets": 5,
    "missing": 0.1,
    "non_html": 0.1,
    "delay": "uniform 0ms 2ms",
}
"""A site with something of everything but faults."""


class FakeSite:
    """A running fake server, and a way to tell it things."""

    def __init__(self, port: int, control_port: int, secret: str) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.control_port = control_port
        self._secret = secret
        self.site = Site(SiteConfig())

    def tell(self, command: str, **details: Any) -> dict[str, Any]:
        """Send a command, and return the answer."""
        with socket.create_connection(("127.0.0.1", self.control_port)) as sock, sock.makefile("rw") as lines:
            lines.write(f"{self._secret}\n{json.dumps({'do': command, **details})}\n")
            lines.flush()
            assert json.loads(lines.readline())["ok"]
            answer: dict[str, Any] = json.loads(lines.readline())
        assert answer["ok"], answer
        return answer

    def configure(self, **config: Any) -> None:
        """Serve this site from now on, with the counters at zero."""
        self.site = Site(SiteConfig.from_dict(config))
        self.tell("configure", site=self.site.config.to_dict())
        self.tell("reset")

    def stats(self) -> dict[str, Any]:
        """Return the counters of the server."""
        stats: dict[str, Any] = self.tell("stats")["stats"]
        return stats

    def fault_of(self, url: str) -> str | None:
        """Return the fault of a page."""
        number = self.site.number(url.removeprefix(self.url))
        return None if number is None else self.site.page(number).fault

    def expected(self, max_redirects: int = 10, max_tries: int = 4) -> dict[str, Page]:
        """Return the record of every page that is reached from page 0; ``num_new_urls`` is left 0."""
        pages: dict[str, Page] = {}
        waiting = deque([(0, max_redirects)])
        met = {0}
        while waiting:
            number, left = waiting.popleft()
            spec = self.site.page(number)
            target = None if spec.location is None else self.site.number(spec.location)
            at_limit = target is not None and target not in met and left == 0
            pages[self.url + spec.path] = self._record(spec, at_limit=at_limit, max_tries=max_tries)
            if spec.fault in ERRORS or at_limit:
                continue
            found = [(link, max_redirects) for link in spec.links] if target is None else [(target, left - 1)]
            for link, redirects in found:
                if link not in met:
                    met.add(link)
                    waiting.append((link, redirects))
        return pages

    def _record(self, spec: PageSpec, *, at_limit: bool, max_tries: int) -> Page:
        url = self.url + spec.path
        if spec.fault in ERRORS:
            tries = 1 if spec.fault == "malformed-header" else max_tries
            return Page(url, None, None, ERRORS[spec.fault], 0, None, None, 0, 0, tries)
        return Page(
            url,
            status=spec.status,
            next_url=None if spec.location is None else self.url + spec.location,
            error="redirect limit reached" if at_limit else None,
            size=spec.body_bytes,
            content_type=spec.content_type.partition(";")[0],
            encoding="utf-8",
            num_urls=len(set(spec.links)),
            num_new_urls=0,
            tries=1,
        )


@contextmanager
def running() -> Iterator[FakeSite]:
    """Start a fake server; it ends with the ``with`` block."""
    command = ["--port", "0", "--control-port", "0", "--ready-line", "--exit-with-stdin"]
    secret = secrets.token_hex()
    with subprocess.Popen(
        [sys.executable, "-m", "inflight.fake_server", *command],
        env=os.environ | {CONTROL_SECRET: secret},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        yield FakeSite(ready["port"], ready["control_port"], secret)
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
