"""The presets that people run by name, cut small: the same tables through the same command, to the page of the run."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from inflight.bench.plan.experiment import PRESETS, load
from inflight.bench.plan.trial import row_trials
from inflight.bench.plan.trials import expand
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.strategies import describe, names
from tests.cli.command import call
from tests.report.parsed_page import check

STRATEGIES = ["sequential", "thread_pool", "callbacks"]
IN_FLIGHT = {"crawl": [1, 4], "memory": [5, 10], "throughput": [1, 4]}
SMALL = {"latency": ["0", "2ms"], "cpu": ["0", "100us"], "pages": 12, "cycles": 1}
"""What takes the place of a key, where a preset has it."""


def cut(preset: str) -> dict[str, Any]:
    """Return a preset whose tables have the same keys, and small values."""
    values = tomllib.loads((PRESETS / f"{preset}.toml").read_text(encoding="utf-8"))
    values |= {"rounds": 1, "strategies": [name for name in STRATEGIES if name in values.get("strategies", names())]}
    for kind, in_flight in IN_FLIGHT.items():
        for table in values.get(kind, []):
            table |= {key: small for key, small in SMALL.items() if key in table}
            table["in_flight"] = in_flight[: len(table["in_flight"])]
            if "strategies" in table:
                table["strategies"] = [name for name in table["strategies"] if name in values["strategies"]]
            table.pop("seconds", None)
    return values


def answered(row: Row) -> bool:
    """Return whether a row has the right answer. What else its checks say depends on the machine."""
    return row.status == "ok" and "answer correct" not in {check.name for check in row.failed_checks}


@pytest.mark.night
@pytest.mark.parametrize("preset", ["quick", "c10k", "map", "sweep", "lag"])
def test_a_preset_cut_small_runs_to_its_report(preset: str, tmp_path: Path) -> None:
    experiment = tmp_path / f"{preset}.toml"
    experiment.write_text(tomli_w.dumps(cut(preset)), encoding="utf-8")
    planned = expand(load(str(experiment), names()), {name: describe(name) for name in names()})

    done = call("run", experiment, "--out", tmp_path / "results")

    (folder,) = (tmp_path / "results").iterdir()
    assert folder.name.endswith(f"-{preset}")
    found = rows.read(folder)
    assert [row.trial for row in found] == [part.id for trial in planned for part in row_trials(trial)]
    assert [row.reason for row in found if not answered(row)] == []
    assert done.code == (0 if any(row.valid for row in found) else 1), done.err
    assert "callbacks" in done.out
    assert call("report", folder).code == 0
    check((folder / "report.html").read_text(encoding="utf-8"))
