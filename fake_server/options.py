"""The options of the server: one table, for each parser of command lines, and what they mean together.

The standard library only, like all that the server needs before it serves.
"""

import argparse
import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from inflight.fake_server.config import SiteConfig
from inflight.fake_server.delays import FORMS, parse_delay, parse_duration_ns
from inflight.fake_server.faults import FAULTS

T = TypeVar("T")

MAX_PORTS = 64
CERTIFICATES = ("right", "expired", "wrong_host")
"""Names of the server's certificates, all signed by the CA in ``certificates/ca.pem`` (``tools/certificates.py``)."""
_SITE = SiteConfig()


class Option(NamedTuple):
    """One option; its name is that of the keyword, and of the field of SiteConfig (the latency is its ``delay``)."""

    name: str
    kind: type[int | float | str]
    """What its values are; bool is for a flag."""
    default: Any
    help: str
    metavar: str | None = None
    repeated: bool = False
    is_internal: bool = False
    """Whether only programs that start a server give it, so that no help lists it."""

    @property
    def flag(self) -> str:
        """Return the option as typed on the command line."""
        return "--" + self.name.replace("_", "-")


SITE_OPTIONS = (
    Option("seed", int, _SITE.seed, "Seed of the random numbers. They decide links, sizes, latencies and faults.", "N"),
    Option("pages", int, _SITE.pages, "Number of pages.", "N"),
    Option("links", int, _SITE.links, "Number of links on each page.", "N"),
    Option("body_bytes", int, _SITE.body_bytes, "Bytes of a page; one that needs more for its links is larger.", "N"),
    Option("body_spread", float, _SITE.body_spread, "Sizes differ by up to this share of --body-bytes.", "SHARE"),
    Option("redirects", float, _SITE.redirects, "Share of the pages that redirect.", "SHARE"),
    Option("redirect_chain", int, _SITE.redirect_chain, "Number of redirects before the final page of a chain.", "N"),
    Option("redirect_targets", int, _SITE.redirect_targets, "Number of final pages; 0: one for each chain.", "N"),
    Option("missing", float, _SITE.missing, "Share of the pages that are 404.", "SHARE"),
    Option("non_html", float, _SITE.non_html, "Share of the pages that are not HTML.", "SHARE"),
    Option(
        "latency",
        str,
        _SITE.delay,
        f"Added latency: time that the server waits before it answers, e.g. 50ms. It is one of {FORMS}.",
        "TIME",
    ),
    Option(
        "fault", str, [], f"Share of the pages that fail at every try; kinds: {', '.join(FAULTS)}.", "KIND=SHARE", True
    ),
    Option("drip", str, "200ms", "Time over which a dripped body is spread.", "TIME"),
)
OPTIONS = (
    Option("host", str, "127.0.0.1", "Address to listen on.", "ADDRESS"),
    Option("port", int, 8080, "Port to listen on. 0 takes any free one.", "N"),
    Option("ports", int, 1, "Number of ports; all but the first are any free ones.", "N", is_internal=True),
    Option(
        "control_port", int, None, "Port for the commands of a runner; 0 takes any free one.", "N", is_internal=True
    ),
    Option("idle_timeout", str, "60s", "Close clients that send no whole request for this long.", "TIME"),
    Option(
        "tls", bool, False, "Use https instead of http. Its CA is fake_server/certificates/ca.pem, for tests alone."
    ),
    Option("certificate", str, "right", f"Certificate: {', '.join(CERTIFICATES)}.", "NAME", is_internal=True),
    Option("exit_with_stdin", bool, False, "Exit when standard input ends.", is_internal=True),
    Option("ready_line", bool, False, "Print one line of JSON when listening.", is_internal=True),
    *SITE_OPTIONS,
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a server: addresses, what stops it, and its site."""

    site: SiteConfig
    host: str
    port: int
    ports: int
    control_port: int | None
    idle_timeout_ns: int
    tls: bool
    certificate: str
    exit_with_stdin: bool
    ready_line: bool


def add_options(parser: argparse.ArgumentParser, options: Iterable[Option]) -> None:
    """Add these options to a parser."""
    for option in options:
        if option.kind is bool:
            parser.add_argument(option.flag, action="store_true", help=option.help)
            continue
        parser.add_argument(
            option.flag,
            action="append" if option.repeated else "store",
            type=option.kind,
            default=option.default,
            metavar=option.metavar,
            help=option.help if option.default in (None, []) else f"{option.help} [default: {option.default}]",
        )


def settings(options: Mapping[str, Any]) -> Settings:
    """Return the settings from the values of OPTIONS. Raises ValueError for invalid values."""
    values = {option.name: options[option.name] for option in OPTIONS if option not in SITE_OPTIONS}
    idle_timeout_ns = _read("--idle-timeout", parse_duration_ns, values.pop("idle_timeout"))
    _check_host(values["host"])
    if values["certificate"] not in CERTIFICATES:
        raise ValueError(f"--certificate must be one of {', '.join(CERTIFICATES)}, not {values['certificate']!r}")
    for name, least, most in (("port", 0, 65535), ("control_port", 0, 65535), ("ports", 1, MAX_PORTS)):
        if values[name] is not None and not least <= values[name] <= most:
            raise ValueError(f"--{name.replace('_', '-')} must be between {least} and {most}, not {values[name]}")
    return Settings(site_config(options), idle_timeout_ns=idle_timeout_ns, **values)


def site_config(options: Mapping[str, Any]) -> SiteConfig:
    """Return the site from the values of SITE_OPTIONS. Raises ValueError for invalid values."""
    values = {option.name: options[option.name] for option in SITE_OPTIONS}
    faults = [_read("--fault", _fault, text) for text in values.pop("fault")]
    drip_ns = _read("--drip", parse_duration_ns, values.pop("drip"))
    delay = _read("--latency", parse_delay, values.pop("latency")).text
    _read("--fault", lambda pairs: SiteConfig(faults=tuple(pairs)), faults)
    try:
        return SiteConfig.from_dict(values | {"faults": faults, "drip_ns": drip_ns, "delay": delay})
    except ValueError as error:
        raise ValueError(_as_typed(str(error))) from error


def _as_typed(message: str) -> str:
    """Return an error of SiteConfig with options instead of fields: ``--pages must be between ...``."""
    fields, must, rest = message.partition(" must be ")
    flags = {option.name: option.flag for option in SITE_OPTIONS}
    return " ".join(flags.get(word, word) for word in fields.split()) + must + rest


def _read(flag: str, parse: Callable[[Any], T], given: Any) -> T:
    """Return the value of an option. Raises ValueError with the option."""
    try:
        return parse(given)
    except ValueError as error:
        raise ValueError(f"{flag}: {error}") from error


def _check_host(text: str) -> None:
    with contextlib.suppress(UnicodeError):
        if text.encode("idna"):
            return
    raise ValueError(f"--host: {text!a} is not a host name or an address")


def _fault(text: str) -> tuple[str, float]:
    kind, _, share = text.partition("=")
    try:
        return kind, float(share)
    except ValueError:
        raise ValueError(f'"{text}" is no fault; write KIND=SHARE, for example reset-mid=0.1') from None
