"""The parameters of a site. An invalid SiteConfig cannot exist."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from inflight.fake_server.delays import parse_delay
from inflight.fake_server.faults import FAULTS

CERTIFICATES = Path(__file__).with_name("certificates")
CA = CERTIFICATES / "ca.pem"
"""The CA that has signed all certificates of the server: a client that trusts it trusts the server."""
CONTROL_SECRET = "INFLIGHT_CONTROL_SECRET"  # noqa: S105  (its name)
"""Environment variable with the secret of a server's control port. Whoever starts a server chooses a new one."""
_WHOLE = {  # minimum and maximum
    "seed": (-(2**63), 2**64 - 1),
    "pages": (1, 10**9),
    "links": (0, 10_000),
    "body_bytes": (0, 2**26),
    "redirect_chain": (1, 10**9),
    "redirect_targets": (0, 10**9),
    "drip_ns": (0, 60_000_000_000),
}
_SHARES = ("redirects", "missing", "non_html")
# Likely wrong names, with the right ones.
_MEANT = {
    "latency": "delay",
    "size": "body_bytes",
    "count": "pages",
    "not_found": "missing",
    "errors": "faults",
}


@dataclass(frozen=True, slots=True)
class SiteConfig:
    """A site: number, kinds, sizes, delays and faults of its pages. Shares are of all pages."""

    seed: int = 1
    pages: int = 1000
    links: int = 10  # on each html page
    body_bytes: int = 1200  # a page that needs more for its links is larger
    body_spread: float = 0.0  # sizes are uniform in body_bytes * (1 +- spread)
    redirects: float = 0.0
    redirect_chain: int = 1  # hops from the head of a chain to its final page
    redirect_targets: int = 0  # distinct final pages; 0 = each chain its own
    missing: float = 0.0
    non_html: float = 0.0
    delay: str = "0"  # see delays.py
    faults: tuple[tuple[str, float], ...] = ()  # (kind, share of the pages that can fail), see faults.py
    drip_ns: int = 200_000_000  # time over which a dripped body is spread
    endless: bool = False  # the pages repeat under new numbers, see endless.py

    def __post_init__(self) -> None:
        """Raise ValueError with a one-sentence message for invalid values."""
        for name, (least, greatest) in _WHOLE.items():
            _check_whole(name, getattr(self, name), least, greatest)
        for name in (*_SHARES, "body_spread"):
            _check_share(name, getattr(self, name))
        _check_sum(" + ".join(_SHARES), [getattr(self, name) for name in _SHARES])
        _need(isinstance(self.delay, str), f"delay must be text, not {self.delay!r}")
        object.__setattr__(self, "delay", parse_delay(self.delay).text)
        object.__setattr__(self, "faults", _checked_faults(self.faults))
        _need(isinstance(self.endless, bool), f"endless must be true or false, not {self.endless!r}")
        if self.endless:
            _check_endless(self)

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> "SiteConfig":
        """Make a config from the parsed form of JSON or TOML; faults may be a mapping of kind to share."""
        known = [field.name for field in fields(cls)]
        for key in mapping:
            if key not in known:
                raise ValueError(f'unknown key "{key}"{_suggestion(str(key), known)}')
        values = dict(mapping)
        faults = values.get("faults", ())
        _need(isinstance(faults, Mapping | list | tuple), f"faults must map kinds to shares, not {faults!r}")
        values["faults"] = tuple(faults.items()) if isinstance(faults, Mapping) else tuple(faults)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, from which from_dict makes an equal config."""
        values = asdict(self) | {"faults": dict(self.faults)}
        if not self.endless:  # as in rows that are older than endless sites
            del values["endless"]
        return values


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_whole(name: str, value: Any, least: int, greatest: int) -> None:
    _need(_is_number(value) and isinstance(value, int), f"{name} must be a whole number, not {value!r}")
    _need(least <= value <= greatest, f"{name} must be between {least} and {greatest}, not {value}")


def _check_share(name: str, value: Any) -> None:
    _need(_is_number(value) and 0 <= value <= 1, f"{name} must be a number between 0 and 1, not {value!r}")


def _check_sum(names: str, shares: list[float]) -> None:
    # Written shares such as 0.7 + 0.2 + 0.1 are not exact in binary.
    _need(sum(shares) <= 1 + 1e-9, f"{names} must be at most 1 together, not {sum(shares):g}")


def _check_endless(config: SiteConfig) -> None:
    _need(config.links > 0, "an endless site needs links: without them a crawl ends")
    powers = [10**power for power in range(1, 7)]
    _need(config.pages in powers, f"an endless site has 10, 100, ... or 1,000,000 pages a lap, not {config.pages}")
    _need(
        not (config.redirects or config.missing or config.non_html or config.faults),
        "an endless site has html pages only: no redirects, missing, non_html or faults",
    )


def _checked_faults(pairs: Any) -> tuple[tuple[str, float], ...]:
    _need(isinstance(pairs, tuple | list), f"faults must be pairs of kind and share, not {pairs!r}")
    _need(all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs), "faults must be pairs")
    for kind, share in pairs:
        _need(isinstance(kind, str) and kind in FAULTS, f"unknown fault {kind!r}; known: {', '.join(FAULTS)}")
        _check_share(f"the share of fault {kind}", share)
    shares = {kind: share for kind, share in pairs if share > 0}
    _need(len({kind for kind, _ in pairs}) == len(pairs), "each fault may be given once")
    _check_sum("the shares of all faults", list(shares.values()))
    # In the order of the table, so that the order of writing changes no page.
    return tuple((kind, float(shares[kind])) for kind in FAULTS if kind in shares)


def _suggestion(key: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, [*known, *_MEANT], n=1)
    return f'; did you mean "{_MEANT.get(near[0], near[0])}"?' if near else f"; known: {', '.join(known)}"
