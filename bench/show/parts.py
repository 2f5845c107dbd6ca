"""The parts of a study: the lines that differ in nothing but what its table shows, with a name for what they share."""

import json
from collections.abc import Collection, Sequence
from typing import Any

import pandas as pd

from inflight.bench.show import words

SPLIT = ("kind", "connection", "site", "cpu", "length", "latency", "in_flight", "interpreter", "cores")
"""Values in which the lines of a part are equal, unless its table shows them."""
USUAL = words.USUAL | {"latency": "0"}
"""Values that are not worth a name."""


def split(
    lines: pd.DataFrame, used: Collection[str] = (), keys: Sequence[str] = SPLIT
) -> list[tuple[str, pd.DataFrame]]:
    """Return the parts of lines, each with its name, the one with the most lines first.

    Lines of a part are equal in ``keys``, except for those that are ``used`` in its table. A name has the values in
    which parts differ, and those that are not usual. The name of an arm has its interpreter and its cores.
    """
    lines = lines.assign(site=site_differences(lines["site"]))
    used = {*used, *(("interpreter", "cores") if "arm" in used else ())}
    keys = [key for key in keys if key not in used]
    differing = {key for key in keys if len(set(lines[key])) > 1}

    def name(values: dict[str, Any]) -> str:
        unusual = {key for key, usual in USUAL.items() if values.get(key) not in {usual, "", None}}
        return words.join(", ", *(words.value_name(key, values[key]) for key in keys if key in differing | unusual))

    groups = [
        (name(dict(zip(keys, values, strict=True))), group)
        for values, group in lines.groupby(keys, sort=False, dropna=False)
    ]
    return sorted(groups, key=lambda part: -len(part[1]))


def name_lines(lines: pd.DataFrame, names: "pd.Series[str]") -> pd.DataFrame:
    """Return lines with the column ``line``, their names as they are shown.

    Lines of one name have one stack, whatever the rows of a stranger say. Long names may be equal as they are shown.
    """
    lines = lines.assign(line=names.map(words.name))
    return lines.assign(stack=lines.groupby("line")["stack"].transform("first"))


def site_differences(sites: "pd.Series[str]") -> "pd.Series[str]":
    """Return of each site, as JSON, the values that another one does not share."""
    values = {site: json.loads(site) for site in sites.unique()}
    common = set.intersection(*(set(map(repr, pairs.items())) for pairs in values.values())) if values else set()
    differing = {
        site: json.dumps({k: v for k, v in pairs.items() if repr((k, v)) not in common})
        for site, pairs in values.items()
    }
    return sites.map(differing)
