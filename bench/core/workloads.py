"""Which workloads are the same, and which belong to one curve: the one definition that tables, plots and answers share.

Two workloads are the same when all that they are made of is equal: site, number of pages, latency, connections, CPU
work, number in flight, and whatever else a row says, but for the arm of a block, which is what crawls. A curve over the
number in flight has workloads that differ in that number alone, and in the number of pages where the longer crawl
belongs to the larger number in flight. Pure.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise

from inflight.bench.core.records.values import Table, plain_values

Size = tuple[int, int]
"""A number in flight, and the number of pages."""


def identity(workload: Table) -> str:
    """Return a text that two workloads share when they are the same; the id does not count."""
    return alike(workload, but_for=())


def alike(workload: Table, but_for: Sequence[str]) -> str:
    """Return a text that two workloads share when they differ at most in these values; ``site.pages`` is the site's."""
    values = {key: value for key, value in plain_values(workload).items() if key not in {"id", "arm", *but_for}}
    if isinstance(site := values.get("site"), dict):
        values["site"] = {key: value for key, value in site.items() if f"site.{key}" not in but_for}
    return json.dumps(values, sort_keys=True)


def curves(sizes: Iterable[Size]) -> dict[Size, str]:
    """Return the curve of each size, by its name; the sizes are of workloads that differ in nothing else.

    The name is empty where they all do, because each number in flight has one number of pages, and more in flight never
    have fewer pages. Where they do not, workloads with the same number of pages make a curve; of the rest those with
    the same number of pages for each fetch in flight; what is left is by itself.
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
