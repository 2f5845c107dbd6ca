"""The meaning of each validity check, for people who do not know it yet; the checks are in the measuring half."""

import tomllib
from pathlib import Path

_TEXTS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("checks.toml").read_text(encoding="utf-8"))
OLDER = frozenset(_TEXTS["older"])
"""Checks that only rows of earlier versions have."""
MEANINGS = _TEXTS["checks"] | _TEXTS["older"]
"""Meaning of each check, by its name."""
