"""One side of a comparison from the JSON of pytest-benchmark: ``--benchmark-json``, or a saved or autosaved run. Pure.

The format is that of ``Metadata.as_dict`` and ``pytest_benchmark_generate_json`` in pytest-benchmark 4 and 5:
durations are seconds per iteration. ``stats.data`` has a value for each round if it was saved; otherwise mean, standard
deviation and number of rounds are used. These keys of ``extra_info`` are read: ``cpu_per_page_ns`` and ``pages_per_s``
(lists, one value per round), ``user_bytes_per_fetch``, and ``invalid`` (names of failed checks; such a benchmark is not
part of the verdict).
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from inflight.bench.studies.stored.side import CPU, MEMORY, THROUGHPUT, WALL, Entry, Key, Sample, Side, number, sample

_SOFTWARE = ("node", "release", "python_implementation", "python_version", "python_compiler", "python_build")
_COMMIT = ("id", "branch", "dirty")
_DECIDES_MEMORY = ("system", "release", "machine", "python_implementation", "python_version")


class BenchmarkError(Exception):
    """The file is not one of pytest-benchmark; the message says why."""


def parse(text: str) -> dict[str, Any]:
    """Return the content of a file. Raises BenchmarkError, whose message continues a sentence after the path."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BenchmarkError(f"is not JSON ({error})") from error
    if not isinstance(values, dict) or not isinstance(values.get("benchmarks"), list):
        raise BenchmarkError("has no list of benchmarks, as --benchmark-json writes it")
    return values


def of_json(name: str, values: Mapping[str, Any]) -> Side:
    """Return a file's side of a comparison. Raises BenchmarkError for a missing or duplicate name."""
    entries: dict[Key, Entry] = {}
    invalid = 0
    for place, benchmark in enumerate(values["benchmarks"], 1):
        own = benchmark if isinstance(benchmark, dict) else {}
        subject = own.get("fullname") or own.get("name")
        if not isinstance(subject, str):
            raise BenchmarkError(f"has no fullname in benchmark {place}")
        if Key(subject, "", WALL) in entries:
            raise BenchmarkError(f"has two benchmarks named {subject}")
        entries |= _entries(subject, own)
        invalid += bool(_invalid(own))
    machine = _table(values, "machine_info")
    return Side(
        name=name,
        entries=entries,
        hardware=_hardware(machine),
        software=_software(values, machine),
        decides_memory=tuple(machine.get(key) for key in _DECIDES_MEMORY),
        trials=len(values["benchmarks"]),
        invalid=invalid,
        marks=frozenset(mark for entry in entries.values() for mark in entry.marks),
    )


def _entries(subject: str, benchmark: Mapping[str, Any]) -> dict[Key, Entry]:
    extra, reasons = _table(benchmark, "extra_info"), _invalid(benchmark)
    figures: dict[str, Sample | str] = {WALL: _wall(_table(benchmark, "stats"))}
    for metric in (CPU, THROUGHPUT, MEMORY):
        found = extra.get(metric)
        if found is not None:
            figures[metric] = sample(found if isinstance(found, list) else [found])
    why = f"no valid trial (failed: {', '.join(reasons)})"
    marks = frozenset([f"{subject} {json.dumps(benchmark.get('stats'), sort_keys=True, default=str)}"])
    timer = _table(benchmark, "options").get("timer")
    asked = json.dumps([benchmark.get("params"), timer], sort_keys=True, default=str)
    return {
        Key(subject, "", metric): Entry(why if reasons else figure, "", int(bool(reasons)), workload=asked, marks=marks)
        for metric, figure in figures.items()
    }


def _wall(stats: Mapping[str, Any]) -> Sample | str:
    """Return the sample of a benchmark's rounds.

    Without the values of the rounds, it is the sample of the lognormal distribution with the same mean and standard
    deviation: the variance of the logarithms is ln(1 + (sd / mean)^2), their mean is ln(mean) minus half that variance.
    """
    data = stats.get("data")
    if isinstance(data, list) and data:
        return sample(data)
    rounds = stats.get("rounds", 1)
    found = sample([stats.get("mean")])
    if isinstance(found, str) or type(rounds) is not int or rounds < 1:
        return "no round was measured" if rounds == 0 else "a figure is not a positive number"
    if rounds == 1:
        return found
    deviation = 0.0 if stats.get("stddev") == 0 else number(stats.get("stddev"))
    if deviation is None:
        return "its standard deviation is not a number"
    relative = min(deviation / math.exp(found.log_mean), 1e9)
    variance = math.log1p(relative**2)
    return Sample(found.log_mean - variance / 2, variance, rounds)


def _invalid(benchmark: Mapping[str, Any]) -> list[str]:
    reasons = _table(benchmark, "extra_info").get("invalid")
    return [str(reason) for reason in reasons] if isinstance(reasons, list) else []


def _hardware(machine: Mapping[str, Any]) -> dict[str, Any]:
    cpu = _table(machine, "cpu")
    named = {key: machine.get(key) for key in ("system", "machine", "processor")}
    return named | {"cpu": cpu.get("brand_raw"), "cores": cpu.get("count")}


def _software(values: Mapping[str, Any], machine: Mapping[str, Any]) -> dict[str, Any]:
    commit = _table(values, "commit_info")
    named = {key: machine.get(key) for key in _SOFTWARE} | {f"commit {key}": commit.get(key) for key in _COMMIT}
    return named | {"pytest-benchmark": values.get("version")}


def _table(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = values.get(key)
    return found if isinstance(found, dict) else {}
