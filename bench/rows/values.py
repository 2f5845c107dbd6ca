"""Value types of records: bounded numbers, text, and tables with or without unknown keys.

``records.read`` makes texts printable and very small numbers 0.
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Optional, TypeVar

import msgspec
from msgspec import Meta, Struct

T = TypeVar("T")
Maybe = Optional[T]  # noqa: UP045 - a generic alias
"""An optional value: absent and null mean the same."""

MAX_NS = 10**17
"""Three years. Sums of such durations are exact integers, and a product of two fits into a float."""
MAX_BYTES = 10**16
MAX_COUNT = 10**12
MAX_NUMBER = 1e15
MAX_BINS = 10**6

Ns = Annotated[int, Meta(ge=0, le=MAX_NS)]
PositiveNs = Annotated[int, Meta(ge=1, le=MAX_NS)]
BinNs = Annotated[int, Meta(ge=1000, le=MAX_NS // MAX_BINS)]
ClockNs = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Bytes = Annotated[int, Meta(ge=0, le=MAX_BYTES)]
ChangeBytes = Annotated[int, Meta(ge=-MAX_BYTES, le=MAX_BYTES)]
Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
PositiveCount = Annotated[int, Meta(ge=1, le=MAX_COUNT)]
Limit = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A limit of the system, or what is left of it: below 0 if more is in use; -1 also stands for no limit."""
Share = Annotated[float, Meta(ge=0, le=1)]
Number = Annotated[float, Meta(ge=0, le=MAX_NUMBER)]
PositiveNumber = Annotated[float, Meta(gt=0, le=MAX_NUMBER)]
Name = Annotated[str, Meta(min_length=1, max_length=2000)]
Text = str

Connection = Literal["keep-alive", "per-fetch"]


class Table(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Part of a row. Known figures are attributes; an absent figure is None."""

    def __bool__(self) -> bool:
        """Return whether any figure is present."""
        return any(getattr(self, name) is not None for name in self.__struct_fields__)


class Closed(Table, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A table that rejects unknown keys."""


class Open(Table, frozen=True, kw_only=True):
    """A table that ignores unknown keys, so that a new figure needs no new format."""


class Lists(Closed, frozen=True, kw_only=True):
    """Lists of equal length: entries at the same place belong together."""

    def __post_init__(self) -> None:
        """Reject lists of different lengths, and times out of order. Raises ValueError."""
        lists = {name: value for name in self.__struct_fields__ if isinstance(value := getattr(self, name), list)}
        if len(set(map(len, lists.values()))) > 1:
            raise ValueError("lists of different lengths in a time line")
        if (times := lists.get("at_ns", [])) != sorted(times):
            raise ValueError("times that do not rise")


def plain_values(table: Struct) -> dict[str, Any]:
    """Return a table as JSON values, without absent figures."""
    values: dict[str, Any] = msgspec.to_builtins(table)
    return values


def alike(workload: Struct, but_for: Sequence[str] = ()) -> str:
    """Return a text that is equal for workloads that differ only in these values; ``site.pages`` is one of the site.

    The id and the arm never count.
    """
    values = {key: value for key, value in plain_values(workload).items() if key not in {"id", "arm", *but_for}}
    if isinstance(site := values.get("site"), dict):
        values["site"] = {key: value for key, value in site.items() if f"site.{key}" not in but_for}
    return json.dumps(values, sort_keys=True)
