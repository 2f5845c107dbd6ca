"""Who takes part in a swarm: how many Locust workers are started here, and how many join from elsewhere."""

import importlib.metadata
import importlib.util
import re
from dataclasses import dataclass

LEAST_SILENCE_S = 60.0
SILENCE_PART = 0.25
"""Part of the time that a trial may take. A large swarm fills its machine for longer."""


@dataclass(frozen=True, slots=True)
class Hosting:
    """Where the Locust master of a swarm listens, and for whom it waits. By default nobody from outside takes part."""

    nodes: int = 1
    """Locust workers that are started on this machine."""
    expect: int = 0
    """Locust workers that join from elsewhere (``inflight swarm --join``)."""
    bind: str = "127.0.0.1"
    """The address on which the master listens."""
    port: int = 0
    """Its port; 0: any free one."""
    web_port: int | None = None
    """The port of Locust's own page, which is served on loopback only; None: no page."""
    wait_s: float = 60.0
    """How long the master waits for those that join."""
    silence_s: float | None = None
    """How long a Locust worker may show no sign of life; None: what the length of the trial allows."""

    @property
    def workers(self) -> int:
        """How many Locust workers take part."""
        return self.nodes + self.expect

    @property
    def here(self) -> int:
        """How many of them are on one machine: on this one, or where none is, on one that joins."""
        return max(1, self.nodes)

    def patience_s(self, lifetime_s: float) -> float:
        """Return how long a process may show no sign of life in a trial that may take ``lifetime_s``."""
        return max(LEAST_SILENCE_S, SILENCE_PART * lifetime_s) if self.silence_s is None else self.silence_s


ALONE = Hosting()
"""This machine alone."""


def address_text(host: str, port: int) -> str:
    """Return ``HOST:PORT``, with brackets around the host if it is an IPv6 address (RFC 3986, 3.2.2)."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


OLDEST = (2, 29)
INSTALL = "pip install 'inflight-bench[locust]' (in a clone: pip install -e '.[locust]')"


def locust_lack() -> str | None:
    """Say what is missing for Locust to run here, and how to get it; None where nothing is.

    Locust is not imported: that would change this process.
    """
    if importlib.util.find_spec("locust") is None:
        return f"Locust: {INSTALL}"
    found = importlib.metadata.version("locust")
    if tuple(int(part) for part in re.findall(r"\d+", found)[:2]) < OLDEST:
        return f"Locust {'.'.join(map(str, OLDEST))} or newer, and {found} is installed: {INSTALL}"
    return None
