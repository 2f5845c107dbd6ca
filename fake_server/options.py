"""The options of the server: one table, for each parser of command lines, and what they mean together.

The standard library only, like all that the server needs before it serves.
"""

import argparse
import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from inflight.fake_server.config import SiteConfig
from inflight.fake_server.delays import FORMS, parse_duration_ns
from inflight.fake_server.faults import FAULTS

MOST_PORTS = 64
_SITE = SiteConfig()


class Option(NamedTuple):
    """One option; its name is that of the keyword, and of the field of SiteConfig where it has one."""

    name: str
    kind: type[int | float | str]
    """What its values are; bool is for a flag."""
    default: Any
    help: str
    metavar: str | None = None
    repeated: bool = False

    @property
    def flag(self) -> str:
        """Return the option as typed on the command line."""
        return "--" + self.name.replace("_", "-")


SITE_OPTIONS = (
    Option("seed", int, _SITE.seed, "Seed of links, sizes, delays and faults."),
    Option("pages", int, _SITE.pages, "Number of pages."),
    Option("links", int, _SITE.links, "Links on each HTML page."),
    Option("body_bytes", int, _SITE.body_bytes, "Size of a page; one that needs more for its links is larger."),
    Option("body_spread", float, _SITE.body_spread, "Sizes differ by up to this share of --body-bytes."),
    Option("redirects", float, _SITE.redirects, "Share of the pages that redirect."),
    Option("redirect_chain", int, _SITE.redirect_chain, "Redirects from the head of a chain to its final page."),
    Option("redirect_targets", int, _SITE.redirect_targets, "Number of final pages; 0: one for each chain."),
    Option("missing", float, _SITE.missing, "Share of the pages that are 404."),
    Option("non_html", float, _SITE.non_html, "Share of the pages that are not HTML."),
    Option("delay", str, _SITE.delay, f"Added latency, one of {FORMS}.", "DELAY"),
    Option(
        "fault", str, [], f"Share of the pages that fail at every try; kinds: {', '.join(FAULTS)}.", "KIND=SHARE", True
    ),
    Option("drip", str, "200ms", "Time over which a dripped body is spread.", "TIME"),
)
OPTIONS = (
    Option("host", str, "127.0.0.1", "Address to listen on.", "ADDRESS"),
    Option("port", int, 8080, "Port to listen on; 0 takes any free one."),
    Option("ports", int, 1, "Number of ports; all but the first are any free ones."),
    Option("control_port", int, None, "Port for the commands of a runner; 0 takes any free one."),
    Option("idle_timeout", str, "60s", "Close clients that send no whole request for this long.", "TIME"),
    Option("exit_with_stdin", bool, False, "Exit when standard input ends."),
    Option("ready_line", bool, False, "Print one line of JSON when listening."),
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
    own = {option.name: options[option.name] for option in OPTIONS if option not in SITE_OPTIONS}
    idle_timeout_ns = parse_duration_ns(own.pop("idle_timeout"))
    _check_host(own["host"])
    for name, least, most in (("port", 0, 65535), ("control_port", 0, 65535), ("ports", 1, MOST_PORTS)):
        if own[name] is not None and not least <= own[name] <= most:
            raise ValueError(f"--{name.replace('_', '-')} must be between {least} and {most}, not {own[name]}")
    return Settings(site_config(options), idle_timeout_ns=idle_timeout_ns, **own)


def site_config(options: Mapping[str, Any]) -> SiteConfig:
    """Return the site from the values of SITE_OPTIONS. Raises ValueError for invalid values."""
    values = {option.name: options[option.name] for option in SITE_OPTIONS}
    faults, drip_ns = [_fault(text) for text in values.pop("fault")], parse_duration_ns(values.pop("drip"))
    return SiteConfig.from_dict(values | {"faults": faults, "drip_ns": drip_ns})


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
