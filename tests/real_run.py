"""One real run per test session: models in blocks and crawls, an arm beside a busy thread, memory, idle tasks."""

import fcntl
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from tests.cli.command import Done, inflight

EXPERIMENT = """
strategies = ["callbacks", "thread_pool"]
seed = 1
rounds = 2

[site]
links = 5

[[throughput]]
latency = ["0", "10ms"]
in_flight = [5]
cycles = 1

[[throughput]]
strategies = ["callbacks"]
in_flight = [1]
cycles = 1
rounds = 1
lag = true
busy_threads = 1
against = { lag = false, busy_threads = 0 }

[[memory]]
in_flight = [10, 20, 30, 40, 50]
connection = ["per-fetch"]
parked = true
rounds = 1
site = { links = 0 }

[[idle]]
what = ["thread"]
n = [40, 80, 120, 160, 200]
rounds = 1

[[crawl]]
pages = 30
in_flight = [5]
rounds = 1
"""


@dataclass(frozen=True)
class RealRun:
    """What ``inflight run`` printed, and the folder that it left. No test may change it."""

    done: Done
    folder: Path

    @property
    def rows(self) -> list[Row]:
        """Read the rows; which of them are valid depends on the machine."""
        return rows.read(self.folder)


@pytest.fixture(scope="session")
def real_run(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> RealRun:
    """Run the experiment once, whichever process of the session asks first."""
    shared = tmp_path_factory.getbasetemp() if worker_id == "master" else tmp_path_factory.getbasetemp().parent
    place = shared / "real-run"
    place.mkdir(exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = place / "done.json"
        if not kept.exists():
            (place / "everything.toml").write_text(EXPERIMENT, "utf-8")
            done = inflight("run", "everything.toml", folder=place)
            kept.write_text(json.dumps([done.code, done.out, done.err]), "utf-8")
    (folder,) = (place / "results").iterdir()
    return RealRun(Done(*json.loads(kept.read_text("utf-8"))), folder)
