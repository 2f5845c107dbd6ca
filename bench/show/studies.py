"""The studies of timed trials, in the order in which they are shown."""

import pandas as pd

from inflight.bench.show.study import Plot, Study, parts

TIMED = "kind in ('crawl', 'arm')"

STUDIES = (
    Study(
        "map",
        "Fastest model",
        ("pages_per_s",),
        Plot("tiles", x="latency", facet="in_flight"),
        select=f"{TIMED} and stack == 'shared'",
        columns=("cpu", "latency", "in_flight"),
        vary=("cpu", "latency"),
        replaces=("throughput", "cpu"),
    ),
    Study(
        "interpreters",
        "CPU time per page on each interpreter",
        ("cpu_per_page_ns",),
        Plot("lines", x="interpreter"),
        select=f"{TIMED} and interpreter != '' and cores == 1",
        lines=("strategy",),
        columns=("interpreter",),
        over=("interpreter", "first"),
        vary=("interpreter",),
        replaces=("throughput", "cpu"),
    ),
    Study(
        "cores",
        "Pages per second on several cores",
        ("pages_per_s",),
        Plot("lines", x="cpu", facet="cores", is_ratio=True),
        select=TIMED,
        lines=("strategy", "interpreter"),
        columns=("cpu", "cores"),
        over=("cores", 1),
        vary=("cores",),
        replaces=("throughput", "cpu"),
    ),
    Study(
        "throughput",
        "Pages per second",
        ("pages_per_s",),
        Plot("lines", x="in_flight"),
        select=TIMED,
    ),
    Study(
        "retention",
        "Pages per second over the number in flight",
        ("pages_per_s",),
        Plot("lines", x="in_flight"),
        select=f"{TIMED} and latency_ns == 0 and cpu_ns == 0",
        columns=("in_flight",),
        over=("in_flight", "best"),
        vary=("in_flight",),
        least=3,
        is_headline=False,
    ),
    Study(
        "cpu",
        "CPU time per page",
        ("cpu_per_page_ns",),
        Plot("bars"),
        select=TIMED,
        over=("arm", "reference"),
    ),
    Study(
        "times",
        "Service time",
        ("service_p50_ns", "service_p90_ns", "service_p99_ns"),
        Plot("dots"),
        select=TIMED,
        is_headline=False,
    ),
    Study(
        "lag",
        "Lateness of a timer of 10 ms in the loop of each model",
        ("lag_p50_ns", "lag_p90_ns", "lag_p99_ns"),
        Plot("dots"),
        note="Of models with threads: of one more thread, which sleeps.",
    ),
)


def shown(lines: pd.DataFrame) -> list[Study]:
    """Return the studies that a frame has something for, without those that others replace."""
    found = [study for study in STUDIES if parts(study, lines)]
    replaced = {name for study in found for name in study.replaces}
    return [study for study in found if study.name not in replaced]
