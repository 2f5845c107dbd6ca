"""Remove the folders of this machine from recorded values, so that results can be published."""

import os
import re
from pathlib import PurePath
from typing import Any

_PATH = re.compile(r"(?:(?<![\w./~])|(?<=file://))/([^\s/'\"`,;:()<>|=]+)(?:/[^\s'\"`,;:()<>|=]*)?")
_OF_THE_KERNEL = frozenset({"proc", "sys", "dev"})
"""Folders that are the same on every machine; paths in them are evidence, such as /proc/net/netstat."""


def without_places(value: Any) -> Any:
    """Return a value of JSON in which each absolute path is replaced by its last part.

    ``/home/me/.venv/bin/python3.11`` becomes ``python3.11``. A path that begins with no folder of this machine is that
    of a page, and stays: ``/p/3``.
    """
    if isinstance(value, dict):
        return {without_places(name): without_places(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(item) for item in value]
    return _named(value) if isinstance(value, str) and "/" in value else value


def _named(text: str) -> str:
    if text.startswith("/") and _is_here(text) and os.path.lexists(text):  # it may contain spaces
        return PurePath(text).name
    return _PATH.sub(lambda match: PurePath(match[0]).name if _is_here(match[0]) else match[0], text)


def _is_here(path: str) -> bool:
    """Return whether the path begins with a folder of this machine, other than the kernel's."""
    first = path.split("/")[1]
    return bool(first) and first not in _OF_THE_KERNEL and os.path.lexists(f"/{first}")
