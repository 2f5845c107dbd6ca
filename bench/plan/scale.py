"""Tables with several processes, as ``experiment`` reads them from TOML: swarms and open loops.

- A **swarm** is one strategy in many processes, controlled by Locust, with all its fetches in flight at once.
- An **open** loop starts requests at a constant rate, independent of the answers.

``trials.expand`` asks each table for its trials; ``inflight swarm`` and ``inflight open-loop`` make one table from
their options. Load is sent to this machine only, unless the user says otherwise (``is_loopback``, ``refusal``).
"""

import ipaddress
from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import urlsplit

from msgspec import Meta, field
from msgspec.structs import force_setattr

from inflight.bench.plan.bare import BareTable, bare_trial
from inflight.bench.plan.grid import check_bodies, latencies, served
from inflight.bench.plan.judge import judged, need
from inflight.bench.plan.trial import Trial
from inflight.bench.rows.kinds import Arm, OpenWorkload, SwarmWorkload
from inflight.bench.rows.parts import Site
from inflight.fake_server.delays import parse_duration_ns
from inflight.fake_server.site import SiteConfig

MAX_IN_FLIGHT = 10_000_000
"""Maximum number in flight of a swarm, over all its processes."""
MAX_OPEN_SECONDS = 3600
"""Maximum time in seconds for which an open loop sends at one rate."""
MAX_HOLD_NS = 3_600_000_000_000
"""Maximum time for which the gates of a swarm stay shut: an hour."""
SWARM_BODY_BYTES = 256
"""Default body size in swarms. Pages are small, because a swarm measures waiting fetches, not the transfer of bytes."""

_SWARM_NS, _SWARM_EACH_NS = 10_000_000_000, 150_000
"""Estimated time of a swarm in nanoseconds, without its fetches and for each fetch; for the estimate of a plan."""
_AROUND_NS = 3_000_000_000
"""Estimated time that an open loop takes beside its window: start, warm-up and end."""
_ONLY_PAGES = {"links": 0, "redirects": 0.0, "missing": 0.0, "faults": {}}
"""Values of each swarm's site: each fetch in flight is one page with status 200 and without links."""
_GIVEN = {"pages": "in_flight decides", "delay": "the gate holds all until it opens"}
"""Values that a swarm's site cannot have, and why: they follow from elsewhere."""
NOT_IN_A_SWARM = _ONLY_PAGES.keys() | _GIVEN.keys()
"""Values of the experiment's common site that a swarm ignores."""

InFlight = Annotated[int, Meta(ge=1, le=MAX_IN_FLIGHT)]
"""A number of fetches in flight in all processes of a swarm together."""
Rate = Annotated[float, Meta(gt=0, le=100_000)]
"""Requests per second."""


class SwarmTable(BareTable, frozen=True, kw_only=True):
    """Each strategy at each number in flight over all processes."""

    kind = "swarm"
    in_flight: tuple[InFlight, ...]
    strategies: tuple[str, ...] | None = None  #: The strategies that take part; None: all of the experiment.
    ramp_per_s: InFlight | None = None  #: Maximum number of fetches started per second.
    processes: Annotated[int, Meta(ge=1, le=10_000)] | None = None  #: None: the smallest number that limits allow.
    hold: str = "0"  #: Time for which the gates stay shut when all fetches are in flight.
    site: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ValueError for a time that is too long, and for a site with more than pages of one kind."""
        super().__post_init__()
        hold_ns(self.hold, "hold")
        few = "processes must be at most the smallest in_flight, because each needs a fetch"
        need((self.processes or 1) <= min(self.in_flight), few)
        for key, value in self.site.items():
            only = _ONLY_PAGES.get(key, value)
            need(value == only, f"{key} must be {only!r} in a swarm's site, not {value!r}; each fetch is one page")
            need(key not in _GIVEN, f"a swarm's site has no {key} of its own; {_GIVEN.get(key)}")
        check_bodies(SiteConfig.from_dict(self.site))

    def trials(self, strategies: Sequence[str] = (), number: int = 1) -> list[Trial]:
        """Return a trial of each strategy at each number in flight."""
        names = [name for name in self.strategies or strategies if name in strategies]
        return [self._trial(name, in_flight, number) for in_flight in self.in_flight for name in names]

    def _trial(self, strategy: str, in_flight: int, number: int) -> Trial:
        """Return the trial of one strategy at one number in flight; ``number`` is the round."""
        hold = hold_ns(self.hold, "hold")
        given = {"ramp": self.ramp_per_s, "processes": self.processes}
        settings = "".join(f"/{key}={value}" for key, value in given.items() if value is not None)
        site = {"body_bytes": SWARM_BODY_BYTES, **self.site, **_ONLY_PAGES, "pages": in_flight}
        workload = SwarmWorkload(
            id=f"swarm/in_flight={in_flight}{settings}",
            in_flight=in_flight,
            ramp_per_s=self.ramp_per_s,
            connection="keep-alive",
            site=Site(**SiteConfig.from_dict(site).to_dict()),
            processes=self.processes,
            hold_ns=hold or None,
        )
        trial_id = f"{workload.id}/{strategy}/round={number}"
        expected_ns = _SWARM_NS + in_flight * _SWARM_EACH_NS + hold
        return Trial(trial_id, number, "swarm", workload, expected_ns, (Arm(strategy, strategy, "compared"),))


class OpenTable(BareTable, frozen=True, kw_only=True):
    """Each rate of requests, at each latency of the site or at one target."""

    kind = "open"
    rates: tuple[Rate, ...]  #: Requests per second.
    seconds: Annotated[float, Meta(gt=0, le=MAX_OPEN_SECONDS)] = 10  #: Length of each rate.
    users: Annotated[int, Meta(ge=1, le=20_000)] = 200  #: Maximum number in flight.
    latency: tuple[str, ...] = ("0",)
    site: dict[str, Any] = field(default_factory=dict)
    target: str | None = None  #: An http URL instead of the latencies and the site.

    def __post_init__(self) -> None:
        """Write numbers and latencies in their canonical form. Raises ValueError for what the types cannot say."""
        force_setattr(self, "rates", tuple(_plain(rate) for rate in self.rates))
        force_setattr(self, "seconds", _plain(self.seconds))
        force_setattr(self, "latency", latencies(self.latency, self.site))
        super().__post_init__()
        few = next((rate for rate in self.rates if rate * self.seconds < 1), None)
        need(few is None, f"at {few} a second nothing arrives in {self.seconds} s; ask for more seconds")
        if self.target is not None:
            host_of(self.target, "target")
            need(self.latency == ("0",), "a target has a latency of its own; leave one of the two out")
            need(not self.site, "a target has a site of its own; leave one of the two out")

    def trials(self, _strategies: Sequence[str] = (), number: int = 1) -> list[Trial]:
        """Return a trial of each rate at each latency, or at the target."""
        if self.target is not None:
            nothing = dict.fromkeys(("latency", "mean_latency_ns", "site"))
            return [self._trial(f"target={self.target}", nothing, rate, number) for rate in self.rates]
        sites = [served(SiteConfig.from_dict(self.site | {"delay": latency})) for latency in self.latency]
        return [self._trial(f"latency={site['latency']}", site, rate, number) for site in sites for rate in self.rates]

    def _trial(self, name: str, site: dict[str, Any], rate: float, number: int) -> Trial:
        """Return the trial of one rate; ``name`` is the latency or the target in its id."""
        workload = OpenWorkload(
            id=f"open/{name}/rate={rate}",
            rate_per_s=rate,
            seconds=self.seconds,
            users=self.users,
            target=self.target,
            **site,
        )
        return bare_trial("open", "locust", workload, round(self.seconds * 1e9) + _AROUND_NS, number)


def is_loopback(host: str) -> bool:
    """Return whether a host is on the loopback: 127.0.0.0/8, ::1, localhost and names below it (RFC 6761, 6.3)."""
    if f".{host.lower().rstrip('.')}".endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refusal(url: str) -> str | None:
    """Say that sending load to a URL needs permission; None where its host is this machine's loopback."""
    host = urlsplit(url).hostname or ""
    if is_loopback(host):
        return None
    return (
        f"{url} is not this machine: load is sent there only with the permission of whoever owns {host}; "
        "if you have it, add --not-loopback"
    )


def hold_ns(text: str, where: str) -> int:
    """Return how long the gates stay shut when all fetches are in flight. Raises ExperimentError."""
    duration_ns = judged(lambda: parse_duration_ns(text), where)
    need(duration_ns <= MAX_HOLD_NS, f"{where} must be at most an hour, not {text!r}")
    return duration_ns


def host_of(target: str, where: str) -> str:
    """Return the host of an http URL. Raises ExperimentError for any other text."""
    parts, port = judged(lambda: ((parts := urlsplit(target)), parts.port), f"{where}: {target!r} is no URL")
    plain = (
        parts.scheme == "http" and parts.hostname and not parts.username and not parts.fragment and target.isprintable()
    )
    wrong = f"{where} must be an http URL such as http://127.0.0.1:8000/, not {target!r}"
    need(bool(plain) and " " not in target, wrong)
    need(port != 0, f"{where}: nothing listens on port 0, as in {target!r}; give the port of the server")
    return str(parts.hostname)


def _plain(number: float) -> float:
    """Return a whole number as an int: it is part of ids."""
    return int(number) if number == int(number) else number
