"""The studies of timed trials, in the order in which they are shown."""

import pandas as pd

from inflight.bench.show.listing import Listing, ranked, rate_kept, reached
from inflight.bench.show.study import Part, Plot, Study, parts

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


def shown(lines: pd.DataFrame) -> list[tuple[Study, list[Part]]]:
    """Return the studies that a frame has something for, with their parts, without those that others replace."""
    found = [(study, own) for study in STUDIES if (own := parts(study, lines))]
    replaced = {name for study, _ in found for name in study.replaces}
    return [(study, own) for study, own in found if study.name not in replaced]


LISTINGS = (
    Listing(
        "held",
        "Held in flight at once",
        "kind == 'memory'",
        (
            "held_in_flight",
            "reach_ns",
            "reach_cpu_ns",
            "reach_server_cpu_ns",
            "drain_ns",
            "held_added_bytes",
            "held_added_bytes_each",
            "held_server_uss_bytes",
            "listen_drops",
            "failed_pages",
        ),
        order="reach_ns",
        finding=ranked,
        bars=("reach_ns", "held_added_bytes"),
        over_time=("in_flight",),
        is_largest=True,
        is_timed=True,
        note="Held: by the server's gate. Memory: of the client, with both ends of its connections.",
    ),
    Listing(
        "ps",
        "As often measured: the size of the process, divided by N",
        "kind == 'idle'",
        ("ps_rss_bytes", "ps_rss_bytes_each"),
        keys=("in_flight",),
        is_largest=True,
        note="The size includes the empty process and excludes memory of the kernel.",
    ),
    Listing(
        "limits",
        "Limits of this machine",
        "kind == 'limit'",
        ("predicted", "found", "predicted_bytes", "found_bytes"),
        texts=("stopped_by", "bound_by"),
        below="remedy",
        finding=reached,
        over_time=("found",),
    ),
    Listing("probes", "Programs", "kind == 'probe'", keys=("site",), is_turned=True),
    Listing(
        "swarm",
        "Fetches in flight in many processes",
        "kind == 'swarm'",
        (
            "held_in_flight",
            "client_processes",
            "server_processes",
            "reach_ns",
            "makespan_ns",
            "held_added_bytes",
            "held_added_bytes_each",
            "failed_pages",
            "lost",
        ),
        keys=("in_flight", "rate_per_s"),
        texts=("bound_by_name",),
        below="bound_by_sentence",
        finding=ranked,
        order="reach_ns",
        over_time=("held", "used_bytes"),
        is_timed=True,
        note="Each process has a server of its own. Memory: of both ends, in all layers, since the start.",
    ),
    Listing(
        "open_loop",
        "Open loop",
        "kind == 'open'",
        (
            "completed_per_s",
            "corrected_p50_ns",
            "corrected_p99_ns",
            "uncorrected_p50_ns",
            "uncorrected_p99_ns",
            "client_cpu_share",
            "server_cpu_share",
            "failed",
            "kept",
        ),
        keys=("rate_per_s",),
        below="measured_why",
        finding=rate_kept,
        over_time=("waiting",),
        bars=("corrected_p50_ns", "uncorrected_p50_ns", "corrected_p99_ns", "uncorrected_p99_ns"),
        is_timed=True,
        note="Corrected: from when a request was due. Uncorrected: from when it was sent.",
    ),
    Listing(
        "clients",
        "Clients of one server",
        "kind == 'client'",
        (
            "completed_per_s",
            "service_mean_ns",
            "service_p50_ns",
            "service_p99_ns",
            "client_cpu_share",
            "server_cpu_share",
        ),
        is_timed=True,
        note="Each client alone with the server, by its own measurements.",
    ),
)
"""The studies of several figures of each trial, behind those of timed trials and of memory."""
