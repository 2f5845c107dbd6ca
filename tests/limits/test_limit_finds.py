"""Limits that are really reached: lowered for a child process, and named by it."""

import json
import platform
import resource
from typing import Any

import pytest

from inflight.bench.measure.limits import (
    RESOURCES,
    Ceiling,
    descriptor_shortage,
    find,
    predict,
    server_shortage,
    thread_shortage,
)
from tests.cli.command import inflight

KEYS = {
    "predicted", "predicted_by", "found", "bound_by", "stopped_by",
    "ceilings", "evidence", "next", "remedy", "timeline",
}  # fmt: skip
MIB = 1 << 20
linux = pytest.mark.skipif(platform.system() != "Linux", reason="what is known elsewhere is less")


def found(resource: str, name: str, value: int) -> dict[str, Any]:
    """Find a limit in a process for which one limit is lowered."""
    done = inflight("limits", resource, "--json", limit=(name, value))
    assert done.code == 0, done.err
    answer: dict[str, Any] = json.loads(done.out)[resource]
    assert set(answer) >= KEYS
    return answer


def test_descriptors_end_at_their_limit_by_name() -> None:
    answer = found("descriptors", "RLIMIT_NOFILE", 256)

    assert answer["stopped_by"] == "failure"
    assert answer["bound_by"] == answer["predicted_by"] == "RLIMIT_NOFILE"
    assert 230 < answer["found"] < 256
    assert answer["found"] == answer["predicted"]
    assert any("EMFILE" in sentence for sentence in answer["evidence"])
    assert "ulimit -Hn" in answer["remedy"]
    assert answer["timeline"][-1][1] == answer["found"]


@linux
def test_threads_end_at_the_address_space_by_name_and_smaller_stacks_are_more() -> None:
    answer = found("threads", "RLIMIT_AS", 600 * MIB)

    assert answer["stopped_by"] == "failure"
    assert answer["bound_by"] == "RLIMIT_AS"
    assert 2 <= answer["found"] < 75, "with 8 MiB each"
    assert answer["small_stack_found"] > answer["found"]
    assert answer["parent_could_fork"] is True
    assert answer["start_ns"] > 0
    assert answer["maps_per_thread"] >= 2
    assert answer["next"]["name"] != "RLIMIT_AS"


@linux
def test_memory_ends_at_the_address_space_of_the_process_and_nowhere_else() -> None:
    limited = found("memory", "RLIMIT_AS", 300 * MIB)
    free = find("memory")

    assert limited["bound_by"] == "RLIMIT_AS"
    assert 200 * MIB < limited["found"] < 300 * MIB
    assert (free["found"], free["stopped_by"]) == (None, "not tried")
    assert "not tried: reaching it would get processes killed" in free["evidence"][0]
    assert free["predicted"] > 0


@linux
def test_a_listeners_queue_is_filled_and_counted_in_more_processes_than_one() -> None:
    answer = found("backlog", "RLIMIT_NOFILE", 2048)

    assert answer["found"] == answer["predicted"]
    assert answer["bound_by"] in {"net.core.somaxconn", "listen(2) backlog"}
    (overflows,) = [sentence for sentence in answer["evidence"] if "ListenOverflows" in sentence]
    assert "counted 0" not in overflows


@linux
def test_a_tenth_of_the_ports_is_left_to_others() -> None:
    answer = find("ports")

    assert answer["stopped_by"] == "shared limit"
    assert answer["bound_by"] == "net.ipv4.ip_local_port_range"
    assert 0.88 * answer["predicted"] < answer["found"] <= 0.9 * answer["predicted"]
    assert any("IP_BIND_ADDRESS_NO_PORT" in sentence for sentence in answer["evidence"])


@linux
def test_a_memory_budget_ends_a_ramp_of_threads_before_any_limit() -> None:
    answer = find("threads", memory_budget_bytes=20_000_000)

    assert answer["stopped_by"] == "memory budget"
    assert 0 < answer["found"] < answer["predicted"]
    assert answer["bound_by"] is None
    assert any("memory budget" in sentence for sentence in answer["evidence"])


@pytest.mark.parametrize("resource", sorted({*RESOURCES} - {"threads"}))
def test_a_prediction_has_evidence_and_a_remedy_for_each_ceiling(resource: str) -> None:
    ceilings = predict(resource)

    assert ceilings
    for ceiling in ceilings:
        assert isinstance(ceiling, Ceiling)
        assert ceiling.name in ceiling.evidence
        assert ceiling.remedy


def test_a_shortage_of_threads_is_one_sentence_with_the_limit_and_what_would_do() -> None:
    sentence = thread_shortage(1 << 40)

    assert sentence is not None
    assert "\n" not in sentence
    assert "use at most" in sentence
    assert "or raise it: " in sentence


def test_a_shortage_of_descriptors_still_says_what_it_said() -> None:
    sentence = descriptor_shortage(1 << 40, per_fetch=False)

    assert sentence is not None
    assert "RLIMIT_NOFILE" in sentence
    assert descriptor_shortage(1, per_fetch=True) is None


def test_arms_that_are_alive_together_share_the_descriptors_of_their_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 20_000))

    sentence = server_shortage([(4096, False)] * 5)

    assert sentence is not None
    assert "the 5 arms" in sentence
    assert "needs 20,544 descriptors" in sentence
    assert server_shortage([(4096, False)] * 4) is None
    assert server_shortage([(4096, True)] * 4) is not None


@pytest.mark.parametrize("call", [find, predict])
def test_an_unknown_resource_is_refused(call: Any) -> None:
    with pytest.raises(ValueError, match="unknown resource 'luck'; known: threads, "):
        call("luck")


def test_few_threads_are_no_shortage() -> None:
    assert thread_shortage(1) is None


@linux
@pytest.mark.night
def test_threads_of_this_machine_end_at_a_limit_with_a_name() -> None:
    answer = find("threads")

    assert answer["stopped_by"] in {"failure", "shared limit", "memory budget"}
    if answer["stopped_by"] == "failure":
        assert answer["bound_by"]
        assert answer["predicted"] == pytest.approx(answer["found"], rel=0.1)
    assert len(answer["timeline"]) <= 500
    counts = [count for _, count in answer["timeline"]]
    assert counts == sorted(counts)
    assert counts[-1] == answer["found"]
