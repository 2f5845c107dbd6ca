"""The Locust processes of a swarm: where the master listens, and which workers it waits for."""

import importlib.metadata
import importlib.util
import re
from dataclasses import dataclass

LEAST_SILENCE_S = 60.0
SILENCE_PART = 0.25
"""The silence limit as a share of a trial's maximum time: a larger swarm keeps its machine busy for longer."""


@dataclass(frozen=True, slots=True)
class Hosting:
    """Where the Locust master of a swarm listens, and the workers it waits for. By default only this machine's."""

    nodes: int = 1
    """Number of Locust workers started on this machine."""
    expect: int = 0
    """Number of Locust workers that join from other machines (``inflight swarm --join``)."""
    bind: str = "127.0.0.1"
    """The address on which the master listens."""
    port: int = 0
    """Its port; 0: any free one."""
    web_port: int | None = None
    """The port of Locust's web page, which is served on loopback only; None: no page."""
    wait_s: float = 60.0
    """How long the master waits for workers of other machines."""
    silence_s: float | None = None
    """How long a Locust worker may show no sign of life; None: derived from the length of the trial."""

    @property
    def workers(self) -> int:
        """Number of Locust workers on all machines."""
        return self.nodes + self.expect

    @property
    def here(self) -> int:
        """Number of Locust workers on this machine; 1 if it has none, as on a machine that joins."""
        return max(1, self.nodes)

    def patience_s(self, lifetime_s: float) -> float:
        """Return how long a process may show no sign of life in a trial that may take ``lifetime_s``."""
        return max(LEAST_SILENCE_S, SILENCE_PART * lifetime_s) if self.silence_s is None else self.silence_s


ALONE = Hosting()
"""Only this machine."""


def address_text(host: str, port: int) -> str:
    """Return ``HOST:PORT``, with brackets around the host if it is an IPv6 address (RFC 3986, 3.2.2)."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


OLDEST = (2, 29)
"""Oldest supported version of Locust."""
INSTALL = "install it with `make extras` in a checkout, otherwise with `pip install inflight-bench[locust]`"


def locust_lack() -> str | None:
    """Say which Locust is needed and how to install it; None where it is installed.

    Locust is not imported, as it patches the process that imports it.
    """
    if importlib.util.find_spec("locust") is None:
        return f"Locust; {INSTALL}"
    found = importlib.metadata.version("locust")
    if tuple(int(part) for part in re.findall(r"\d+", found)[:2]) < OLDEST:
        return f"Locust {'.'.join(map(str, OLDEST))} or newer, and {found} is installed; {INSTALL}"
    return None
