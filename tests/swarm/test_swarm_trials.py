"""Small swarms of real processes: they work as large ones do, and survive lost processes."""

import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from inflight.bench.measure import host
from inflight.bench.measure import locust as locustfile_folder
from inflight.bench.measure.locust.hosting import Hosting
from inflight.bench.measure.locust.identity import identity
from inflight.bench.measure.swarm import crowd
from inflight.bench.measure.swarm import run as swarm
from inflight.bench.measure.swarm.run import Swarm, run_swarm
from inflight.bench.measure.trial import Setting
from inflight.bench.plan import scale
from inflight.bench.plan.bare import BareTrial
from inflight.bench.rows.files import Row
from tests.patience import FOREVER_S
from tests.ports import free_port

IN_FLIGHT = 400
LOCUSTFILE = Path(locustfile_folder.__file__).parent / "locustfile.py"
PROGRAMS = (
    "inflight.bench.measure.locust.master",
    "inflight.bench.measure.locust.node",
    "inflight.bench.measure.worker.share",
)
SILENCE_S = 3
"""Longer than any process of ours sleeps, even on a slow machine."""
UNHEARD_S = 15
"""Long enough to get a message from a Locust worker on a slow machine."""
CPUS = host.halves(pin=True)
SETTING = Setting("run", CPUS, lambda _: FOREVER_S, halves=CPUS)


def trial(strategy: str = "callbacks", in_flight: int = IN_FLIGHT, processes: int | None = 2) -> BareTrial:
    (found,) = scale.Swarm(in_flight=(in_flight,), processes=processes).trials([strategy])
    return replace(found, stack="shared")


def verdicts(row: Row) -> dict[str, str]:
    return {check.name: check.verdict for check in row.checks}


@pytest.fixture
def family() -> Iterator[list[psutil.Process]]:
    """Collect the processes of a swarm, and check that none is left after it."""
    found: list[psutil.Process] = []
    yield found
    assert found
    left = psutil.wait_procs(found)[1]
    assert [one for one in left if one.status() != psutil.STATUS_ZOMBIE] == []


def ours() -> list[psutil.Process]:
    """Return the swarm processes that this process has started, without others such as a browser.

    A zombie, which another test may have left, has no command line.
    """
    living = [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]
    started = [child for child in living if set(PROGRAMS).intersection(child.cmdline())]
    return [*started, *(child for one in started for child in one.children(recursive=True))]


@pytest.fixture
def at_the_peak(
    monkeypatch: pytest.MonkeyPatch, family: list[psutil.Process]
) -> Callable[[Callable[[Swarm, ExitStack], object]], None]:
    """Return a function that registers an action for when the gates hold all, just before memory is read."""
    measure = Swarm._layers_since

    def register(act: Callable[[Swarm, ExitStack], object]) -> None:
        def acting(one: Swarm, base: dict[str, Any]) -> dict[str, Any]:
            family.extend(ours())
            with ExitStack() as stack:
                act(one, stack)
                return measure(one, base)

        monkeypatch.setattr(Swarm, "_layers_since", acting)

    return register


def send(number: signal.Signals, program: str) -> int:
    """Send a signal to the first process of ours that runs this program; return its process id."""
    victim = next(child for child in ours() if program in child.cmdline())
    victim.send_signal(number)
    return victim.pid


@pytest.mark.ci
def test_a_killed_strategy_process_is_counted_and_named_and_the_others_finish(at_the_peak: Any) -> None:
    pids = []
    at_the_peak(lambda _, __: pids.append(send(signal.SIGKILL, "inflight.bench.measure.worker.share")))

    row = run_swarm(trial(), SETTING)

    assert pids, row.reason
    (loss,) = row.measured.lost
    assert loss.what == "strategy process"
    assert loss.pid == pids[0]
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
def test_a_killed_server_is_counted_and_named_and_the_others_finish(at_the_peak: Any) -> None:
    pids = []
    at_the_peak(lambda _, __: pids.append(send(signal.SIGKILL, "inflight.fake_server")))

    row = run_swarm(trial(), SETTING)

    (loss,) = row.measured.lost
    assert (loss.what, loss.pid) == ("server", pids[0])
    assert "killed by signal 9" in loss.how
    assert row.status == "wrong"
    assert row.measured.pages == IN_FLIGHT
    assert row.measured.failed_pages == IN_FLIGHT // 2
    assert sum(row.measured.errors.values()) == IN_FLIGHT // 2


@pytest.mark.night
@pytest.mark.skipif(not hasattr(psutil.Process, "rlimit"), reason="the limits of another process cannot be set here")
def test_fetches_that_cannot_be_made_are_counted_by_their_error_and_the_others_are_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ramp = Swarm._ramp

    def with_few_descriptors(one: Swarm) -> None:
        for child in ours():
            if "inflight.bench.measure.worker.share" in child.cmdline():
                child.rlimit(psutil.RLIMIT_NOFILE, (120, 120))
        ramp(one)

    monkeypatch.setattr(Swarm, "_ramp", with_few_descriptors)

    row = run_swarm(trial(processes=1), SETTING)

    assert row.status == "wrong", row.reason
    assert 50 < row.measured.held_in_flight < 120
    assert row.measured.errors == {"network error: EMFILE": row.measured.failed_pages}
    assert row.measured.held_in_flight + row.measured.failed_pages == row.measured.pages == IN_FLIGHT
    assert verdicts(row)["all in flight, confirmed"] == verdicts(row)["no unexpected failures"] == "failed"


@pytest.mark.night
def test_a_killed_locust_worker_loses_its_shares_and_the_other_one_finishes(at_the_peak: Any) -> None:
    at_the_peak(lambda _, __: send(signal.SIGKILL, "inflight.bench.measure.locust.node"))

    row = run_swarm(trial(), replace(SETTING, hosting=Hosting(nodes=2)))

    (loss,) = row.measured.lost
    assert loss.what == "Locust worker"
    assert loss.how == "was killed by signal 9 (SIGKILL), with 1 share"
    assert loss.in_flight == IN_FLIGHT // 2
    assert row.status == "wrong"
    assert row.measured.pages == IN_FLIGHT // 2


@pytest.mark.night
def test_a_frozen_locust_worker_is_killed_and_named_and_the_other_one_finishes(at_the_peak: Any) -> None:
    frozen = []
    at_the_peak(lambda _, __: frozen.append(send(signal.SIGSTOP, "inflight.bench.measure.locust.node")))

    row = run_swarm(trial(), replace(SETTING, hosting=Hosting(nodes=2, silence_s=SILENCE_S)))

    (loss,) = row.measured.lost
    assert (loss.what, loss.pid) == ("Locust worker", frozen[0])
    assert loss.how == f"stood still for {SILENCE_S} s and was killed, with 1 share"
    assert loss.in_flight == IN_FLIGHT // 2
    assert row.status == "wrong"
    assert row.measured.pages == IN_FLIGHT // 2


@pytest.mark.night
def test_a_frozen_master_ends_the_trial_and_is_named(at_the_peak: Any) -> None:
    at_the_peak(lambda _, __: send(signal.SIGSTOP, "inflight.bench.measure.locust.master"))

    row = run_swarm(trial(processes=1), replace(SETTING, hosting=Hosting(silence_s=SILENCE_S)))

    assert row.status == "failed"
    assert row.reason == f"Locust's master stood still for {SILENCE_S} s"
    assert row.measured.held_in_flight == IN_FLIGHT


@pytest.mark.night
def test_a_locust_worker_of_another_machine_is_lost_after_the_silence_limit(at_the_peak: Any) -> None:
    port = free_port()

    with crowd.node_process("127.0.0.1", port, CPUS, FOREVER_S, patience_s=60) as joined:
        at_the_peak(lambda _, __: joined.process.send_signal(signal.SIGSTOP))
        row = run_swarm(trial(), replace(SETTING, hosting=Hosting(expect=1, port=port, silence_s=UNHEARD_S)))

    (loss,) = row.measured.lost
    assert (loss.what, loss.pid) == ("Locust worker", joined.pid)
    assert loss.how == f"was silent for {UNHEARD_S} s, with 1 share"
    assert row.status == "wrong"
    assert row.measured.pages == IN_FLIGHT // 2


@pytest.mark.night
def test_a_frozen_server_is_killed_and_named_after_the_silence_limit(
    at_the_peak: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swarm, "ANSWER_SECONDS", 0)  # the limit is the trial's, not that of a server alone
    frozen = []
    at_the_peak(lambda _, __: frozen.append(send(signal.SIGSTOP, "inflight.fake_server")))

    row = run_swarm(trial(processes=1), replace(SETTING, hosting=Hosting(silence_s=UNHEARD_S)))

    (loss,) = row.measured.lost
    assert (loss.what, loss.pid) == ("server", frozen[0])
    assert "does not answer" in loss.how
    assert row.status == "wrong"
    assert loss.in_flight == IN_FLIGHT


@pytest.mark.parametrize(("lifetime_s", "patience_s"), [(10, 60), (1000, 250)])
def test_a_longer_trial_may_be_silent_for_longer(lifetime_s: float, patience_s: float) -> None:
    assert Hosting().patience_s(lifetime_s) == patience_s
    assert Hosting(silence_s=3).patience_s(lifetime_s) == 3


@pytest.mark.night
def test_a_locust_worker_that_joins_late_is_named_and_takes_no_part(at_the_peak: Any) -> None:
    def join(one: Swarm, stack: ExitStack) -> None:
        crowd_ = one._crowd
        stack.enter_context(crowd.node_process("127.0.0.1", crowd_.port, CPUS, FOREVER_S))
        while not crowd_.late:
            crowd_.listen(0.05)

    at_the_peak(join)

    row = run_swarm(trial(processes=1), SETTING)

    (late,) = row.measured.late
    assert late.what == "Locust worker"
    assert late.name.startswith(socket.gethostname())
    assert row.status == "ok", row.reason
    assert row.measured.pages == IN_FLIGHT


@pytest.mark.night
def test_stopping_it_on_locusts_page_ends_it_and_is_named(at_the_peak: Any) -> None:
    port = free_port()

    def stop(one: Swarm, _: ExitStack) -> None:
        stopping = urllib.request.Request(f"http://127.0.0.1:{port}/stop", method="POST")
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(stopping).close()

    at_the_peak(stop)

    row = run_swarm(trial(), replace(SETTING, hosting=Hosting(web_port=port)))

    assert row.status == "wrong"
    assert row.reason is not None
    assert "was stopped by Locust, or on its page" in row.reason
    assert [loss.what for loss in row.measured.lost] == ["Locust user", "Locust user"]


@pytest.mark.night
def test_a_worker_of_another_locustfile_is_named_and_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Swarm._start

    def join_first(one: Swarm, lifetime_s: float) -> None:
        command = [
            sys.executable,
            "-m",
            "locust",
            "-f",
            str(LOCUSTFILE),
            "--worker",
            "--master-port",
            str(one._crowd.port),
        ]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as stranger:
            try:
                while not one._crowd.strangers:
                    one._crowd.listen(0.05)
                start(one, lifetime_s)
            finally:
                stranger.kill()

    monkeypatch.setattr(Swarm, "_start", join_first)

    row = run_swarm(trial(processes=1), SETTING)

    (late,) = row.measured.late
    assert late.what == "foreign Locust worker"
    assert row.status == "ok", row.reason


@pytest.mark.night
def test_the_memory_budget_ends_a_swarm_and_all_its_processes(
    at_the_peak: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breach(one: Swarm, _: ExitStack) -> None:
        monkeypatch.setattr(one._guard, "_budget_bytes", 0)
        monkeypatch.setattr(one._guard, "_unused_bytes", psutil.virtual_memory().total)

    at_the_peak(breach)

    row = run_swarm(trial(), SETTING)

    assert row.status == "failed"
    assert row.reason is not None
    assert row.reason.startswith("stopped by the memory budget: ")
    assert row.measured.held_in_flight == IN_FLIGHT


@pytest.mark.night
def test_a_locust_worker_of_another_version_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = identity()
    monkeypatch.setattr(crowd, "identity", lambda: ours | {"locust": "1.0"})
    monkeypatch.setattr(crowd, "START_S", 15)

    row = run_swarm(trial(processes=1), SETTING)

    assert row.status == "failed"
    assert row.reason is not None
    assert f"locust {ours['locust']} there, 1.0 here" in row.reason


def test_joining_where_nobody_listens_is_one_sentence() -> None:
    said: list[str] = []
    port = free_port()

    assert swarm.join("127.0.0.1", port, patience_s=0.5, tell=said.append) == 2
    (sentence,) = said
    assert f"127.0.0.1:{port}: " in sentence


@pytest.mark.ci
def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        row = run_swarm(trial(processes=1), replace(SETTING, hosting=Hosting(port=taken.getsockname()[1])))

    assert row.status == "failed"
    assert row.reason is not None
    assert "Locust's master could not be started" in row.reason
    assert "in use" in row.reason


@pytest.mark.night
def test_never_more_are_in_flight_than_the_rate_allows() -> None:
    slow = trial(processes=4)
    slow.values["ramp_per_s"] = IN_FLIGHT

    row = run_swarm(slow, SETTING)

    line = row.measured.timeline
    assert row.status == "ok", row.reason
    assert all(held <= IN_FLIGHT * at / 1e9 for at, held in zip(line.at_ns, line.held, strict=True) if at < 1e9)
    assert row.measured.reach_ns >= 1e9
