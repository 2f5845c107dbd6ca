"""Words that all outputs share: harmless names, workloads in words, fixed texts, the glossary.

The modules of ``show``, and commands, ``ab`` and ``runs`` for their messages, use it. ``texts.toml`` has all fixed
sentences and the meanings of terms and checks. Names and texts of rows may come from a stranger: ``plain`` and ``name``
make them harmless.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from inflight.bench import units
from inflight.bench.rows.kinds import OVER_TLS
from inflight.bench.rows.parts import AGAIN, REACHED
from inflight.bench.rows.records import RECORDS

if TYPE_CHECKING:
    from inflight.bench.rows.files import Row

TEXTS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))
"""All fixed texts, by their tables."""
SENTENCES = TEXTS["sentences"]
"""Sentences that several outputs have."""
MEANINGS = TEXTS["checks"] | TEXTS["older"]
"""Meaning of each validity check, by its name; the checks are in the measuring half."""
MAX_NAME = 40
"""Maximum length in characters of the name of a strategy, or of another arm, as it is shown."""

KEYS = {
    "latency": "added latency",
    "cpu": "CPU work",
    "in_flight": "in flight",
    "rate_per_s": "offered/s",
    "site": "",
}
"""What keys of the frame are called, if not by their names."""
KINDS = {"crawl": "whole crawls", "arm": "blocks"}
"""What kinds of trials are called where both are in a table."""
WORKLOAD = (
    *("latency", "cpu", "connection", "tls", "rate_per_s", "ramp_per_s", "processes", "in_flight", "n"),
    *("arguments", "variables", "through_shared"),
)
"""The values that name a workload, in order."""
USUAL_BODY_BYTES = 1200
"""The size of pages that is not worth a word."""
USUAL_IN_FLIGHT = 100
"""Of several numbers in flight, the nearest to this one stands for all."""
USUAL: dict[str, Any] = {"cpu": "0", "connection": "keep-alive"}
"""Values that are not worth a word."""


class NotInRunError(ValueError):
    """A value is not in the run; the message lists those that are. Use one of these, or run more."""


def join(separator: str, *parts: str) -> str:
    """Join the parts that are not empty."""
    return separator.join(filter(None, parts))


def plain(text: str, most: int = 200) -> str:
    """Return text with nothing that moves a cursor or breaks a file: one line, printable, cut at ``most``."""
    clean = printable(" ".join(text.split()))
    return clean if len(clean) <= most else clean[: most - 1] + "…"


def printable(text: str) -> str:
    """Return text with a question mark for each character that cannot be printed."""
    return "".join(char if char.isprintable() else "?" for char in text)


def name(strategy: str) -> str:
    """Return the name of a strategy as it is shown: printable, and cut at ``MAX_NAME``, but not what it reached."""
    reached = "".join(re.findall(REACHED, strategy))
    return shortened(strategy.removesuffix(reached), MAX_NAME - len(reached)) + reached


def shortened(text: str, most: int) -> str:
    """Return plain text of at most this length. Different texts stay different: a number replaces what is cut."""
    clean = plain(text, len(text))
    return clean if len(clean) <= most else f"{clean[: most - 6]}…{crc32(clean.encode()) % 100_000:05}"


def value_name(key: str, value: Any) -> str:
    """Write a value of a key of the frame or of a workload: ``0 ms``, ``100 in flight``, ``1 ms CPU work``."""
    match key:
        case "latency":
            return "0 ms" if value == "0" else units.latency(value)
        case "cpu":
            return "no CPU work" if value == "0" else f"{units.latency(value)} CPU work"
        case "in_flight":
            return in_flight(value)
        case "n":
            return units.count(value)
        case "cores":
            return counted(value, "core")
        case "processes":
            return f"{value} processes" if value else ""
        case "length":
            return counted(value, "page") if value else ""
        case "site" | "arguments" | "variables":
            values = json.loads(value) if isinstance(value, str) else value
            texts = []
            for name, item in values.items():
                text = name.replace("_", " ") if key == "site" else name
                texts.append(text if item is True else f"{text} {item}")
            return shortened(", ".join(texts), 60)
        case "connection":
            kind, over_tls, _ = value.partition(OVER_TLS)
            return f"{kind} connections{over_tls}" if value else ""
        case "tls":
            return "over TLS" if value else ""
        case "rate_per_s":
            return f"{value:,.10g} offered/s" if value else ""
        case "ramp_per_s":
            return f"{units.count(value)} more/s" if value else ""
        case "through_shared":
            return "through shared limits" if value else ""
        case _:
            return plain(str(KINDS.get(value, value)), MAX_NAME)


def value_words(key: str) -> str:
    """Return what a key is called."""
    return KEYS.get(key, key)


def short_name(key: str, value: Any) -> str:
    """Write a value of a key without the key's name."""
    return "none" if (key, value) == ("cpu", "0") else value_name(key, value).removesuffix(f" {value_words(key)}")


def workload(kind: str, values: Mapping[str, Any]) -> str:
    """Write the workload of a kind of trial: ``50 ms latency, 1 ms CPU work, 100 in flight``; not what is usual."""
    texts = []
    for key in WORKLOAD:
        if values.get(key) is None or values[key] == USUAL.get(key):
            continue
        if key != "latency":
            texts.append(value_name(key, values[key]))
        elif not RECORDS[kind].IS_HELD:
            texts.append(f"{value_name(key, values[key])} latency")
    return join(", ", *texts)


def body(kind: str, values: Mapping[str, Any]) -> str:
    """Write the size of the pages of a block: ``body bytes 5000``; nothing if it is usual, or the kind another one."""
    body_bytes = values.get("site", {}).get("body_bytes", USUAL_BODY_BYTES)
    return "" if kind != "arm" or body_bytes == USUAL_BODY_BYTES else value_name("site", {"body_bytes": body_bytes})


def in_flight(number: int) -> str:
    """Write a number of fetches in flight: ``1,000 in flight``."""
    return f"{units.count(number)} in flight"


def counted(number: float, what: str) -> str:
    """Write a number of things whose plural ends in s: ``1 block``, ``1,000 blocks``, ``1.5 cores``."""
    return f"{units.count(number)} {what}{'' if number == 1 else 's'}"


def limited(rows: "Iterable[Row]") -> list[str]:
    """Say of each client with a limit of its own how many it keeps in flight, of the most that it was asked for."""
    able = [row for row in rows if row.reached and not row.arm.endswith(AGAIN)]
    able.sort(key=lambda row: row.workload.in_flight)
    reached = {name(row.arm): row.reached for row in able}
    return [SENTENCES["limited"].format(*each) for each in reached.items()]


def disturbed(kind: object) -> list[str]:
    """Say that a kind of neighbour disturbed the figures on purpose; nothing without one."""
    return [SENTENCES["neighbour"].format(plain(str(kind), 40))] if kind else []
