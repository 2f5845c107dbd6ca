"""Lists of the command line as an experiment: all combinations of their values, in blocks of arms that take turns.

``inflight run`` calls ``cross`` with the texts of its options --in-flight, --latency, --cpu and --body. Each value is
checked here, so that a message names its option; ``experiment.parse`` then checks what is made of them, as of a file.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any

from inflight.bench.plan.experiment import Experiment, parse
from inflight.bench.plan.grid import MAX_IN_FLIGHT, work_ns
from inflight.bench.plan.judge import check_distinct, judged, need, whole
from inflight.bench.units import parse_size_bytes
from inflight.fake_server.delays import duration_text, parse_delay

NAME = "grid"
"""The name of the experiment."""
ROUNDS, CYCLES = 3, 4
"""Number of blocks of each workload, and of slices of each strategy in a block without latency."""
MAX_WORKLOADS = 200
"""Maximum number of combinations."""
MIN_BODY_BYTES, MAX_BODY_BYTES = 500, 16_000_000
"""Sizes of a page: the smallest one has room for ten links, and a fetch takes at most 16 MiB."""


def cross(given: Mapping[str, Sequence[str]], known_strategies: Iterable[str]) -> Experiment:
    """Return the experiment with all combinations of the values of each option. Raises ExperimentError.

    The texts of an option each have one value, or several with commas. A block with latency lasts for twenty latencies,
    so it has one slice of each strategy.
    """
    lists = {option: _read(option, texts) for option, texts in given.items()}
    size = prod(map(len, lists.values()))
    need(size <= MAX_WORKLOADS, f"the lists have {size:,} combinations, limit {MAX_WORKLOADS}; leave out some values")
    common = {}
    if "--in-flight" in lists:
        common["in_flight"] = lists["--in-flight"]
    if "--cpu" in lists:
        common["cpu"] = lists["--cpu"]
    sites: list[dict[str, int]] = [{}]
    if "--body" in lists:
        sites = [{"body_bytes": size_bytes} for size_bytes in lists["--body"]]
    tables = []
    for site, latency in product(sites, lists.get("--latency", ["0"])):
        cycles = CYCLES if latency == "0" else 1
        varied = {
            "latency": [latency],
            "cycles": cycles,
            "site": site,
        }
        tables.append(common | varied)
    values = {
        "rounds": ROUNDS,
        "throughput": tables,
    }
    return parse(values, NAME, known_strategies, NAME)


def _read(option: str, texts: Sequence[str]) -> list[Any]:
    """Return the values of an option, each there once."""
    words = [word.strip() for text in texts for word in text.split(",")]
    need(all(words), f"{option}: a value is empty; write one value, or several with a comma between two")
    values = [_READ[option](word, option) for word in words]
    check_distinct(values, option)
    return values


def _in_flight(word: str, where: str) -> int:
    """Return a number in flight."""
    return whole(int(word) if word.isdecimal() else word, 1, MAX_IN_FLIGHT, where)


def _latency(word: str, where: str) -> str:
    """Return a latency in its canonical form."""
    return judged(partial(parse_delay, word), where).text


def _cpu(word: str, where: str) -> str:
    """Return a duration of CPU work in its canonical form."""
    return duration_text(work_ns(word, where))


def _body(word: str, where: str) -> int:
    """Return the bytes of a page."""
    size_bytes = judged(partial(parse_size_bytes, word), where)
    is_possible = MIN_BODY_BYTES <= size_bytes <= MAX_BODY_BYTES
    need(is_possible, f"{where} must be from {MIN_BODY_BYTES}B, room for ten links, to 16MB, not {word}")
    return size_bytes


_READ: dict[str, Callable[[str, str], Any]] = {
    "--in-flight": _in_flight,
    "--latency": _latency,
    "--cpu": _cpu,
    "--body": _body,
}
"""What reads a value of each option."""
