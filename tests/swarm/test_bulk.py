"""Fetches added to Locust's statistics in bulk make the same entries as single ones."""

import json
import sys
from typing import Any

from tests.processes import run_to_end

# Importing Locust patches the whole process, so whatever needs it runs in one of its own.
_COMPARE = """
import json, random
import locust
from locust.env import Environment
from locust.stats import RequestStats, StatsError, setup_distributed_stats_event_listeners
from inflight.bench.measure.swarm.strategy_user import METHOD, add

draw = random.Random(1)
times_ns = [round(draw.lognormvariate(17.5, 2)) for _ in range(10_000)]
texts = [draw.choice(["connection reset", "truncated body"]) if draw.random() < 0.01 else None for _ in times_ns]

singles, bulks = Environment(events=locust.event.Events()), Environment(events=locust.event.Events())
for time_ns, text in zip(times_ns, texts):
    singles.stats.log_request(METHOD, "/p/[n]", time_ns / 1e6, 256)
    if text is not None:
        singles.stats.log_error(METHOD, "/p/[n]", text)
for begin in range(0, len(times_ns), 2_500):
    part = texts[begin : begin + 2_500]
    failures = {text: part.count(text) for text in set(part) - {None}}
    add(bulks, "/p/[n]", times_ns[begin : begin + 2_500], 2_500 * 256, failures)
add(bulks, "/p/[n]", [], 0, {})


def said(stats):
    entries = [stats.total, *stats.entries.values()]
    return [
        {
            "name": entry.name,
            "method": entry.method,
            "counts": [entry.num_requests, entry.num_failures, entry.total_content_length],
            "per_second": [sum(entry.num_reqs_per_sec.values()), sum(entry.num_fail_per_sec.values())],
            "percentiles": [entry.get_response_time_percentile(share) for share in (0.01, 0.5, 0.9, 0.99, 0.999, 1.0)],
            "rounded": sorted(entry.response_times.items()),
            "extremes": [entry.min_response_time, entry.max_response_time],
            "mean": round(entry.avg_response_time, 6),
            "has_a_rate": entry.total_rps > 0 and entry.last_request_timestamp >= entry.start_time,
        }
        for entry in entries
    ] + [sorted((error.to_name(), error.occurrences, error.first_seen is not None) for error in stats.errors.values())]


def at_the_master(worker):
    master, events = RequestStats(), [locust.event.Events(), locust.event.Events()]
    setup_distributed_stats_event_listeners(events[0], worker)
    setup_distributed_stats_event_listeners(events[1], master)
    data = {}
    events[0].report_to_master.fire(client_id="one", data=data)
    events[1].worker_report.fire(client_id="one", data=json.loads(json.dumps(data), object_pairs_hook=whole_keys))
    return master


def whole_keys(pairs):
    return {int(key) if key.isdigit() else key: value for key, value in pairs}


print(json.dumps({
    "singles": said(singles.stats),
    "bulks": said(bulks.stats),
    "reported_singles": said(at_the_master(singles.stats)),
    "reported_bulks": said(at_the_master(bulks.stats)),
    "left": [bulks.stats.total.num_requests, len(bulks.stats.errors)],
}))
"""


def test_bulks_and_single_requests_make_the_same_entries_at_the_worker_and_its_master() -> None:
    done = run_to_end([sys.executable, "-c", _COMPARE])
    assert done.returncode == 0, done.stderr
    compared: dict[str, Any] = json.loads(done.stdout)

    assert compared["bulks"] == compared["singles"]
    assert compared["bulks"][1]["counts"][0] == 10_000
    assert compared["bulks"][-1]
    assert compared["reported_bulks"] == compared["reported_singles"]
    assert compared["reported_bulks"][1]["counts"] == compared["bulks"][1]["counts"]
    assert compared["left"] == [0, 0]
