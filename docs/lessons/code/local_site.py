"""Serve the synthetic site on this machine while a program of a lesson runs."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SERVER = "-m inflight.fake_server --port 0 --ready-line --exit-with-stdin --links 1"


@contextmanager
def local_site(pages: int, latency: str) -> Iterator[int]:
    """Serve /p/0, /p/1 and so on, each after the latency ("20ms"); yield the port."""
    with subprocess.Popen(
        [sys.executable, *SERVER.split(), "--pages", str(pages), "--latency", latency],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        ready = server.stdout.readline()
        if not ready:
            sys.exit("The site did not start. It needs the packages of .venv; try: . .venv/bin/activate")
        try:
            yield json.loads(ready)["port"]
        finally:
            server.terminate()
