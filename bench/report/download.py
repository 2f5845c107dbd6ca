"""The raw rows inside a page: a link that is the file itself, as long as the page stays small enough."""

import base64
import gzip
import re
from collections.abc import Sequence

from bench.core import units
from bench.core.rows import Row
from bench.present.markup import paragraph, text
from bench.report.files import Extras
from bench.report.frames import csv

MOST_BYTES = 3_000_000
"""A page is smaller than this; what is too much for it is left out, the table first, then the rows."""
_TOLD_BYTES = 2_000
"""Room for the sentences beside the links."""
_ODD = re.compile(r"[^\w.-]+", re.ASCII)


def downloads(rows: Sequence[Row], extras: Extras, taken_bytes: int) -> str:
    """Return links to the rows, and to them as a table; ``taken_bytes`` is the size of all the rest of the page.

    The same rows give the same bytes.
    """
    if not rows:
        return paragraph("There are no rows.")
    room = MOST_BYTES - taken_bytes - _TOLD_BYTES
    parts, left_out = [], []
    files = {"rows.jsonl": ("All rows, one JSON object a line", _lines), "rows.csv": ("One line a trial", csv)}
    for name, (what, write) in files.items():
        packed = gzip.compress(write(rows).encode("utf-8", "replace"), mtime=0)
        link = _link(f"{_file_name(extras.name)}-{name}.gz", what, packed)
        if len(link) <= room:
            room -= len(link)
            parts.append(f"<li>{link}</li>")
        else:
            left_out.append(f"{name}.gz ({units.size(len(packed))})")
    told = [f"<ul>{''.join(parts)}</ul>"] if parts else []
    if left_out:
        where = f"; the rows are in {extras.rows_path}" if extras.rows_path else ""
        told.append(paragraph(f"Left out, for the page would be too large: {', '.join(left_out)}{where}."))
    return "".join(told)


def _lines(rows: Sequence[Row]) -> str:
    return "".join(f"{row.to_json()}\n" for row in rows)


def _link(name: str, what: str, packed: bytes) -> str:
    address = f"data:application/gzip;base64,{base64.b64encode(packed).decode()}"
    return f'<a download="{name}" href="{address}">{name}</a>: {text(what)}, {text(units.size(len(packed)))}'


def _file_name(name: str) -> str:
    """Return a name that every file system takes."""
    return _ODD.sub("-", name).strip(".-")[:120] or "run"
