"""Equality of workloads, and curves of workloads; tables, plots and answers share these definitions. Pure.

Two workloads are the same if all their values are equal (site, number of pages, latency, connections, CPU work, number
in flight ...), except for the id and the arm of a block. The workloads of a curve differ in the number in flight alone,
or also in the number of pages if a larger number in flight has the longer crawl.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise

from inflight.bench.rows.values import Table, plain_values

Size = tuple[int, int]
"""(number in flight, number of pages)"""


def identity(workload: Table) -> str:
    """Return a text that is equal for equal workloads; the id does not count."""
    return alike(workload, but_for=())


def alike(workload: Table, but_for: Sequence[str]) -> str:
    """Return a text that is equal for workloads that differ only in these values; ``site.pages`` is one of the site."""
    values = {key: value for key, value in plain_values(workload).items() if key not in {"id", "arm", *but_for}}
    if isinstance(site := values.get("site"), dict):
        values["site"] = {key: value for key, value in site.items() if f"site.{key}" not in but_for}
    return json.dumps(values, sort_keys=True)


def curves(sizes: Iterable[Size]) -> dict[Size, str]:
    """Return the name of the curve of each size. The workloads differ in nothing else.

    All sizes make one curve, with an empty name, if each number in flight has one number of pages, and more in flight
    never have fewer pages. Otherwise sizes with the same number of pages make a curve. Of the rest, sizes with the same
    number of pages per fetch in flight make a curve. Any other size is a curve of its own.
    """
    found = sorted(set(sizes))
    if all(one[0] < other[0] and one[1] <= other[1] for one, other in pairwise(found)):
        return dict.fromkeys(found, "")
    pages = [size[1] for size in found]
    ratios = [size[1] / size[0] for size in found if pages.count(size[1]) == 1]
    return {size: _curve(size, pages, ratios) for size in found}


def _curve(size: Size, pages: Sequence[int], ratios: Sequence[float]) -> str:
    ratio = size[1] / size[0]
    if pages.count(size[1]) == 1 and ratios.count(ratio) > 1:
        return f"{ratio:g} for each in flight"
    return f"{size[1]:,}"
