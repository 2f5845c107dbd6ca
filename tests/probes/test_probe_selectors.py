"""Every available kind of selector, with and without idle connections."""

import json
import resource
import sys
from collections.abc import Callable

import pytest

from inflight.bench.claims.programs.selectors import IN_FLIGHT, KINDS, SITE
from inflight.bench.plan.bare import PROBES
from tests.patience import FOREVER_S
from tests.probes.asking import ask_process
from tests.processes import run_to_end

Serve = Callable[[str], str]


@pytest.mark.parametrize("idle", [0, 300])
@pytest.mark.parametrize("selector", list(KINDS))
def test_every_page_is_fetched_beside_idle_connections(serve: Serve, selector: str, idle: int) -> None:
    measured = ask_process("selectors", serve("selectors"), selector=selector, idle=idle)

    assert "stopped_by" not in measured
    assert measured["pages"] == SITE["pages"]
    assert measured["largest_fd"] >= idle + IN_FLIGHT
    assert measured["cpu_per_page_ns"] == measured["cpu_ns"] // measured["pages"]


def test_select_is_stopped_by_fd_setsize(serve: Serve) -> None:
    measured = ask_process("selectors", serve("selectors"), selector="select", idle=1100)

    assert measured["stopped_by"] == "FD_SETSIZE"
    assert measured["error"] == "filedescriptor out of range in select()"
    assert measured["largest_fd"] >= 1024
    assert "cpu_per_page_ns" not in measured


def test_more_idle_connections_than_descriptors_is_a_result(serve: Serve) -> None:
    # In a process of its own, whose hard limit is lowered and cannot be raised again.
    limit = 300
    arguments = {"selector": "poll", "idle": 250}
    order = json.dumps({"arguments": arguments, "base": serve("selectors"), "lifetime_s": FOREVER_S})
    done = run_to_end(
        [sys.executable, "-P", "-m", "inflight.bench.measure.worker.program", PROBES["selectors"]],
        input=order,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
    )

    measured = json.loads(done.stdout)["measured"]
    assert measured["stopped_by"] == "RLIMIT_NOFILE"
    assert measured["error"] == "250 idle connections need 314 descriptors of 300"
