"""What figures are called, in which unit they are, and which end of them is the better one.

All outputs of ``show``, ``runs`` and ``ab`` ask ``figure_of`` for a figure by its name, which is that of a field of
``rows.kinds``; the end of the name is its unit (``_ns``, ``_bytes``, ``_share``, ``_per_s``). A new figure needs a line
in FIGURES only if its name, read as words, is not what people should read.
"""

from dataclasses import dataclass
from functools import partial

from inflight.bench import units


def _whole(value: float, _digits: int = 0) -> str:
    """Write a count."""
    return units.count(round(value))


def _per_page(value: float, _digits: int = 0) -> str:
    """Write a count per page."""
    return units.count(round(value, 2))


def _share(value: float, _digits: int = 0) -> str:
    """Write a share as a percentage."""
    return units.percent(value)


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured quantity."""

    words: str
    """What it is called."""
    write: units.Write
    """Formats a value; counts and shares need no number of digits, and ignore it."""
    best: str = ""
    """What the strategy with the best value is called; empty: lowest in these words."""
    worst: str = ""
    """What the strategy with the worst value is called."""
    is_more_better: bool = False
    """Whether a greater value is the better one."""
    digits: int = 2
    """Significant digits of its mean in tables and sentences."""


_time = partial(Figure, write=units.duration, best="shortest", worst="longest")
"""A figure in nanoseconds of which less is better."""
_size = partial(Figure, write=units.size, best="smallest", worst="largest")
"""A figure in bytes of which less is better."""
_count = partial(Figure, write=_whole)
"""A figure that is a number of things."""
_done = partial(Figure, write=_per_page, best="fewest", worst="most")
"""A number of things that are done for each page."""

FIGURES = {
    "pages_per_s": Figure("pages per second", units.rate, "fastest", "slowest", is_more_better=True, digits=3),
    "cpu_per_page_ns": Figure("CPU time per page", units.duration, "cheapest", "dearest"),
    "python_calls_per_page": _done("Python calls"),
    "c_calls_per_page": _done("C calls"),
    "system_calls_per_page": _done("system calls"),
    "bytecodes_per_page": _done("bytecodes"),
    "pss_bytes": _size("memory of all processes (PSS)"),
    "service_mean_ns": _time("service time, mean"),
    "service_p50_ns": _time("service time, median"),
    "service_p90_ns": _time("service time, 90 %"),
    "service_p99_ns": _time("service time, 99 %"),
    "lag_p50_ns": _time("lateness of a timer, median"),
    "lag_p90_ns": _time("lateness of a timer, 90 %"),
    "lag_p99_ns": _time("lateness of a timer, 99 %"),
    "user_bytes_per_fetch": _size("memory per fetch in flight"),
    "held_added_bytes": _size("memory added"),
    "held_added_bytes_each": _size("memory each"),
    "held_in_flight": _count("held", best="fewest", worst="most", is_more_better=True),
    "reach_ns": _time("all held after"),
    "reach_cpu_ns": _time("CPU"),
    "reach_server_cpu_ns": _time("server CPU"),
    "drain_ns": _time("drained in"),
    "makespan_ns": _time("all answered after"),
    "held_server_uss_bytes": _size("server memory"),
    "listen_drops": _count("drops"),
    "failed_pages": _count("failed"),
    "failed": _count("failed"),
    "ps_rss_bytes": _size("ps -o rss"),
    "ps_rss_bytes_each": _size("rss / N"),
    "completed_per_s": Figure("completed/s", units.number, "fastest", "slowest", is_more_better=True),
    "corrected_p50_ns": _time("corrected p50"),
    "corrected_p99_ns": _time("corrected p99"),
    "uncorrected_p50_ns": _time("uncorrected p50"),
    "uncorrected_p99_ns": _time("uncorrected p99"),
    "client_cpu_share": Figure("client's core", _share),
    "server_cpu_share": Figure("server's core", _share),
    "kept": Figure("rate kept", _share, "most often", "least often", is_more_better=True),
    "client_processes": _count("processes"),
    "server_processes": _count("servers"),
    "lost": _count("lost"),
    "predicted": _count("predicted"),
    "predicted_bytes": _size("predicted size"),
    "found_bytes": _size("reached size"),
    "found": _count("reached", best="most", worst="fewest", is_more_better=True),
    "in_flight": _count("fetches started and not finished (client)"),
    "threads": _count("living threads"),
    "waiting": _count("requests due and not yet sent"),
    "held": _count("fetches held at the gates"),
    "used_bytes": _size("memory added, whole system"),
}
"""By the names of the frame's column ``figure``, and of the figures over time (``moments``)."""
_BY_UNIT: dict[str, units.Write] = {
    "_ns": units.duration,
    "_bytes": units.size,
    "_share": _share,
    "_per_s": units.number,
    "": units.number,
}
"""What writes a figure that is not in FIGURES, by the end of its name."""


def figure_of(name: str) -> Figure:
    """Return a figure; one that FIGURES does not have is called by its name and written by the unit in it."""
    if name in FIGURES:
        return FIGURES[name]
    if ": " in name:  # a piece of something, such as a line of code that allocates
        return Figure(name, units.size)
    ending = next(ending for ending in _BY_UNIT if name.endswith(ending))
    return Figure(name.removesuffix(ending).replace("_", " "), _BY_UNIT[ending])
