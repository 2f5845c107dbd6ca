"""The values of which records are made: numbers within bounds, text, and tables that know all their keys or not."""

from typing import Annotated, Any, Literal, Optional, TypeVar

import msgspec
from msgspec import Meta, Struct

T = TypeVar("T")
Maybe = Optional[T]  # noqa: UP045 - a generic alias
"""A value that may be left out; null means the same."""

MOST_NS = 10**17
"""Three years, which no trial takes: sums of such durations are exact, and no product of two leaves a float."""
MOST_BYTES = 10**16
MOST = 10**12
DEEPEST = 20
"""Tables within tables, of what has no known keys."""
LEAST_NUMBER, MOST_NUMBER = 1e-20, 1e15
"""A number with a fraction is 0 or between these; its reciprocal and its square are numbers too."""

Ns = Annotated[int, Meta(ge=0, le=MOST_NS)]
PositiveNs = Annotated[int, Meta(ge=1, le=MOST_NS)]
BinNs = Annotated[int, Meta(ge=1000, le=MOST_NS)]
ClockNs = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Bytes = Annotated[int, Meta(ge=0, le=MOST_BYTES)]
ChangeBytes = Annotated[int, Meta(ge=-MOST_BYTES, le=MOST_BYTES)]
Count = Annotated[int, Meta(ge=0, le=MOST)]
PositiveCount = Annotated[int, Meta(ge=1, le=MOST)]
Limit = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""What a system allows, or what that leaves: below 0 where more is in use, and -1 for no limit at all."""
Share = Annotated[float, Meta(ge=0, le=1)]
Number = Annotated[float, Meta(ge=0, le=MOST_NUMBER)]
PositiveNumber = Annotated[float, Meta(gt=0, le=MOST_NUMBER)]
Name = Annotated[str, Meta(min_length=1, max_length=2000)]
Text = str

Connection = Literal["keep-alive", "per-fetch"]


class Table(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A table of a row: its known figures as attributes; None where a figure is absent."""

    def __bool__(self) -> bool:
        """Tell whether there is any figure."""
        return any(getattr(self, name) is not None for name in self.__struct_fields__)


class Closed(Table, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A table whose keys are all known: a key that is not is a mistake."""


class Open(Table, frozen=True, kw_only=True):
    """A table that may have more keys than are known here, so that a figure can be added without a new format."""


def whole_values(table: Struct) -> dict[str, Any]:
    """Return a table as JSON values, with null for what is absent."""
    return dict.fromkeys(table.__struct_fields__) | plain_values(table)


def plain_values(table: Struct) -> dict[str, Any]:
    """Return a table as JSON values, without what is absent."""
    found: dict[str, Any] = msgspec.to_builtins(table)
    return found


class NumberOutOfRange:
    """Stands for a number that is too large or too small for a record; no type of a record takes it."""


def number(digits: str) -> Any:
    """Return a number with a fraction, as it stands in JSON, or a ``NumberOutOfRange``."""
    value = float(digits)
    return value if value == 0 or LEAST_NUMBER <= abs(value) <= MOST_NUMBER else NumberOutOfRange()


def plain(value: Any, path: str, depth: int = 0) -> None:
    """Raise ValueError for a value of no known key that is not plain JSON with numbers within bounds."""
    if isinstance(value, NumberOutOfRange) or (isinstance(value, int) and abs(value) >= 2**63):
        raise ValueError(f"Number out of range - at `{path}`")
    if depth > DEEPEST:
        raise ValueError(f"Tables within tables beyond {DEEPEST} - at `{path}`")
    if isinstance(value, dict):
        for name, own in value.items():
            plain(own, f"{path}.{name[:40]}", depth + 1)
    elif isinstance(value, list):
        for place, own in enumerate(value):
            plain(own, f"{path}[{place}]", depth + 1)
