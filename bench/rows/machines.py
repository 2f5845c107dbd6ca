"""Which runs are of the same machine, by their ``machine.json``."""

import re
from collections.abc import Mapping
from typing import Any

_KEYS = ("cpu", "usable_cores", "memory_bytes", "system", "python", "neighbour")
_MEMORY_SHARE = 0.02
"""Share by which the memory of a machine may differ from boot to boot."""


def differences(before: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys whose values make two machines different; empty for the same machine.

    The same are CPU model, usable cores, memory, kernel series (such as Linux 6.18), interpreter, and a neighbour that
    disturbs on purpose.
    """
    return tuple(key for key in _KEYS if not _is_same(key, before.get(key), other.get(key)))


def _is_same(key: str, before: Any, other: Any) -> bool:
    if key == "memory_bytes":
        low, high = sorted((float(before or 0), float(other or 0)))
        return high - low <= _MEMORY_SHARE * high
    if key == "system":
        before, other = (re.sub(r"(\d+\.\d+).*", r"\1", str(system)) for system in (before, other))
    return bool(before == other)
