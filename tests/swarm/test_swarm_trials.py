"""Small swarms of real processes: they work as large ones do, and survive lost processes."""

import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import psutil
import pytest
from msgspec import structs

from inflight import strategies
from inflight.bench.measure import host
from inflight.bench.measure.swarm import run as swarm
from inflight.bench.measure.swarm.run import SwarmRun, run_swarm
from inflight.bench.measure.trial import Hosting, Setting
from inflight.bench.plan import scale
from inflight.bench.plan.trial import Trial
from inflight.bench.rows.files import Row
from tests.patience import FOREVER_S

IN_FLIGHT = 400
SHARE, SERVER = "inflight.bench.measure.worker.share", "inflight.fake_server"
MASTER, NODE = "master", "worker"
"""The argument of each Locust process."""
STILL_S = 3
"""Longer than any process of ours sleeps, even on a slow machine."""
CPUS = host.halves(pin=True)
SETTING = Setting("run", CPUS, lambda _: FOREVER_S, halves=CPUS)
TWO_NODES = replace(SETTING, hosting=Hosting(nodes=2))


def trial(strategy: str = "callbacks", in_flight: int = IN_FLIGHT, processes: int | None = 2) -> Trial:
    (planned,) = scale.SwarmTable(in_flight=(in_flight,), processes=processes).trials([strategy])
    return replace(planned, models={strategy: strategies.describe("callbacks")})


def verdicts(row: Row) -> dict[str, str]:
    return {check.name: check.verdict for check in row.checks}


BEFORE: set[int] = set()
"""The children of this process before a test, such as the servers that live for the session."""


@pytest.fixture(autouse=True)
def _others() -> None:
    BEFORE.clear()
    BEFORE.update(child.pid for child in psutil.Process().children())


@pytest.fixture
def family() -> Iterator[list[psutil.Process]]:
    """Collect the processes of a swarm, and check that none is left after it."""
    collected: list[psutil.Process] = []
    yield collected
    assert collected
    left = psutil.wait_procs(collected)[1]
    assert [one for one in left if one.status() != psutil.STATUS_ZOMBIE] == []


def ours() -> list[psutil.Process]:
    """Return the swarm processes that this process has started in this test, without others such as a browser.

    A zombie has no command line.
    """
    mine = [child for child in psutil.Process().children() if child.pid not in BEFORE]
    living = [child for child in mine if child.status() != psutil.STATUS_ZOMBIE]
    started = [child for child in living if {MASTER, NODE, SERVER}.intersection(child.cmdline())]
    return [*started, *(child for one in started for child in one.children(recursive=True))]


@pytest.fixture
def at_the_peak(
    monkeypatch: pytest.MonkeyPatch, family: list[psutil.Process]
) -> Callable[[Callable[[SwarmRun], object]], None]:
    """Return a function that registers an action for when the gates hold all, just before memory is read."""
    measure = SwarmRun._held_layers

    def register(act: Callable[[SwarmRun], object]) -> None:
        def acting(one: SwarmRun, base: dict[str, Any]) -> dict[str, Any]:
            family.extend(ours())
            act(one)
            return measure(one, base)

        monkeypatch.setattr(SwarmRun, "_held_layers", acting)

    return register


def send(number: signal.Signals, program: str) -> int:
    """Send a signal to the first process of ours that runs this program; return its process id."""
    victim = next(child for child in ours() if program in child.cmdline())
    victim.send_signal(number)
    return victim.pid


@pytest.mark.ci
def test_a_killed_strategy_process_is_counted_and_named_and_the_others_finish(at_the_peak: Any) -> None:
    pids = []
    at_the_peak(lambda _: pids.append(send(signal.SIGKILL, SHARE)))

    row = run_swarm(trial(), SETTING)

    assert pids, row.reason
    (loss,) = row.measured.lost
    assert (loss.what, loss.pid) == ("strategy process", pids[0])
    assert loss.how == "was killed by signal 9 (SIGKILL)"
    assert loss.in_flight == IN_FLIGHT // 2
    assert row.status == "wrong"
    assert row.reason is not None
    assert "1 of 2 shares" in row.reason
    assert f"a strategy process of share {loss.share} was killed by signal 9" in row.reason
    assert row.measured.held_in_flight == IN_FLIGHT
    assert row.measured.pages == IN_FLIGHT // 2
    assert row.measured.failed_pages == 0
    assert verdicts(row)["all processes survived"] == "failed"


@pytest.mark.night
@pytest.mark.parametrize(
    ("number", "how"), [(signal.SIGKILL, "killed by signal 9"), (signal.SIGSTOP, "does not answer")]
)
def test_a_lost_server_is_counted_and_named_and_the_others_finish(
    at_the_peak: Any, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, how: str
) -> None:
    monkeypatch.setattr(swarm, "_patience_s", lambda _: STILL_S)
    pids = []
    at_the_peak(lambda _: pids.append(send(number, SERVER)))

    row = run_swarm(trial(), SETTING)

    (loss,) = row.measured.lost
    assert (row.status, loss.what, loss.pid) == ("wrong", "server", pids[0])
    assert how in loss.how
    assert (row.measured.pages, row.measured.failed_pages) == (IN_FLIGHT, IN_FLIGHT // 2)
    assert sum(row.measured.errors.values()) == IN_FLIGHT // 2


@pytest.mark.night
@pytest.mark.skipif(not hasattr(psutil.Process, "rlimit"), reason="the limits of another process cannot be set here")
def test_fetches_that_cannot_be_made_are_counted_by_their_error_and_the_others_are_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ramp = SwarmRun._ramp

    def with_few_descriptors(one: SwarmRun) -> None:
        for child in ours():
            if SHARE in child.cmdline():
                child.rlimit(psutil.RLIMIT_NOFILE, (120, 120))
        ramp(one)

    monkeypatch.setattr(SwarmRun, "_ramp", with_few_descriptors)

    row = run_swarm(trial(processes=1), SETTING)

    assert row.status == "wrong", row.reason
    assert 50 < row.measured.held_in_flight < 120
    assert row.measured.errors == {"network error: EMFILE": row.measured.failed_pages}
    assert row.measured.held_in_flight + row.measured.failed_pages == row.measured.pages == IN_FLIGHT
    assert verdicts(row)["all in flight, confirmed"] == verdicts(row)["no unexpected failures"] == "failed"


@pytest.mark.night
@pytest.mark.parametrize(
    ("number", "how", "held"),
    [
        (signal.SIGKILL, "was killed by signal 9 (SIGKILL), with 1 share", {IN_FLIGHT // 2}),
        # The gates may be opened before it counts as frozen.
        (signal.SIGSTOP, f"stood still for {STILL_S} s and was killed, with 1 share", {0, IN_FLIGHT // 2}),
    ],
)
def test_a_lost_locust_worker_loses_its_shares_and_the_other_one_finishes(
    at_the_peak: Any, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, how: str, held: set[int]
) -> None:
    monkeypatch.setattr(swarm, "_patience_s", lambda _: STILL_S)
    pids = []
    at_the_peak(lambda _: pids.append(send(number, NODE)))

    row = run_swarm(trial(), TWO_NODES)

    (loss,) = row.measured.lost
    assert (loss.what, loss.pid, loss.how) == ("Locust worker", pids[0], how)
    assert loss.in_flight in held
    assert row.status == "wrong"
    assert row.measured.pages == IN_FLIGHT // 2
    assert row.measured.nodes == 2


@pytest.mark.night
@pytest.mark.parametrize(
    ("number", "program", "reason"),
    [
        (signal.SIGKILL, MASTER, "Locust's master was killed by signal 9 (SIGKILL)"),
        (signal.SIGSTOP, MASTER, f"Locust's master stood still for {STILL_S} s and was killed"),
        (
            signal.SIGKILL,
            NODE,
            "no Locust worker is left: a Locust worker was killed by signal 9 (SIGKILL), with 1 share",
        ),
    ],
)
def test_a_swarm_without_locust_is_a_failed_row_with_the_reason(
    at_the_peak: Any, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, program: str, reason: str
) -> None:
    monkeypatch.setattr(swarm, "_patience_s", lambda _: STILL_S)
    at_the_peak(lambda _: send(number, program))

    row = run_swarm(trial(processes=1), SETTING)

    assert row.status == "failed"
    assert row.reason is not None
    assert row.reason.startswith(reason)
    assert row.measured.held_in_flight == IN_FLIGHT


@pytest.mark.parametrize(("lifetime_s", "patience_s"), [(10, 60), (1000, 250)])
def test_a_longer_trial_may_stand_still_for_longer(lifetime_s: float, patience_s: float) -> None:
    assert swarm._patience_s(lifetime_s) == patience_s


@pytest.mark.night
def test_the_memory_budget_ends_a_swarm_and_all_its_processes(
    at_the_peak: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breach(one: SwarmRun) -> None:
        monkeypatch.setattr(one._guard, "_budget_bytes", 0)
        monkeypatch.setattr(one._guard, "_unused_bytes", psutil.virtual_memory().total)

    at_the_peak(breach)

    row = run_swarm(trial(), SETTING)

    assert row.status == "failed"
    assert row.reason is not None
    assert row.reason.startswith("stopped by the memory budget: ")
    assert row.measured.held_in_flight == IN_FLIGHT


@pytest.mark.night
def test_never_more_are_in_flight_than_the_rate_allows() -> None:
    slow = trial(processes=4)
    slow = replace(slow, workload=structs.replace(slow.workload, ramp_per_s=IN_FLIGHT))

    row = run_swarm(slow, SETTING)

    line = row.measured.timeline
    assert row.status == "ok", row.reason
    assert all(held <= IN_FLIGHT * at / 1e9 for at, held in zip(line.at_ns, line.held, strict=True) if at < 1e9)
    assert row.measured.reach_ns >= 1e9
