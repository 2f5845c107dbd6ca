"""What all probes have in common: names, arguments, one line in, one line out."""

import importlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from inflight.bench.measure.programs._shared import (
    LIFETIME_S,
    ArgumentError,
    find_probe,
    measure,
    probes,
    read_order,
)
from inflight.fake_server.site import SiteConfig
from tests.patience import until
from tests.probes.asking import refusal, run

GOOD = json.dumps({"arguments": {}, "base": None})
KNOWN = ("cancel_workers", "races", "selectors", "spin", "stack_ripping", "thread_per_fetch")


def test_the_probes_are_found_by_their_files() -> None:
    assert set(KNOWN) <= set(probes())
    assert not [name for name in probes() if name.startswith("_")]


@pytest.mark.parametrize("name", probes())
def test_a_probe_documents_itself_and_its_arguments(name: str) -> None:
    module = importlib.import_module(f"inflight.bench.measure.programs.{name}")

    assert (module.__doc__ or "").splitlines()[0].endswith((".", ":"))
    assert all(values and isinstance(values, tuple) for values in module.ARGUMENTS.values())
    assert json.dumps(list(itertools.product(*module.ARGUMENTS.values())))
    if module.SITE is not None:
        assert SiteConfig.from_dict(module.SITE)


@pytest.mark.parametrize("name", probes())
def test_a_probe_can_be_imported_with_the_standard_library_alone(name: str) -> None:
    code = f"import sys; sys.path[:0] = ['.']; import inflight.bench.measure.programs.{name}; print(*sys.modules)"

    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)

    loaded = {module for module in done.stdout.split() if module.startswith("inflight.bench")}
    allowed = {
        "inflight.bench",
        "inflight.bench.measure",
        "inflight.bench.measure.programs",
        "inflight.bench.measure.programs._shared",
        f"inflight.bench.measure.programs.{name}",
    }
    assert loaded <= allowed


def test_an_unknown_probe_is_refused_with_the_closest_name() -> None:
    assert refusal("spinn", line=GOOD) == "unknown probe 'spinn'; did you mean \"spin\"?"


def test_a_refusal_is_always_one_sentence() -> None:
    assert refusal("\udcff\n" * 2000, line=GOOD).startswith("unknown probe ")


@pytest.mark.parametrize("word", ["", "_shared", "__main__", "../spin", "spin.measure", "os", "\udcff", "x" * 5000])
def test_an_unknown_name_is_refused(word: str) -> None:
    with pytest.raises(ArgumentError, match="unknown probe"):
        find_probe([word])


@pytest.mark.parametrize("words", [(), ("spin", "races")])
def test_one_probe_has_to_be_named(words: tuple[str, ...]) -> None:
    with pytest.raises(ArgumentError, match="expected the name of one probe"):
        find_probe(words)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"null",
        b"[]",
        b"{}",
        b'"arguments"',
        b"{'arguments': {}}",
        b"\xff\xfe{}",
        b"[" * 100_000,
        b'{"arguments": [], "base": null}',
        b'{"arguments": null, "base": null}',
        b'{"arguments": {}, "base": 7}',
        b'{"arguments": {}, "base": null, "more": 1}',
        b'{"arguments": {}, "lifetime_s": 0}',
        b'{"arguments": {}, "lifetime_s": NaN}',
        b'{"arguments": {}, "lifetime_s": true}',
        b'{"arguments": {}, "lifetime_s": "long"}',
        b'{"arguments": {"sockets": ' + b"9" * 5000 + b"}}",
        b'{"arguments": {}, "' + b"\\n" * 5000 + b'": 1}',
    ],
)
def test_an_invalid_order_is_refused_in_one_sentence(line: bytes) -> None:
    with pytest.raises(ArgumentError) as refused:
        read_order(line)

    assert len(str(refused.value).splitlines()) == 1
    assert len(str(refused.value)) < 200


def test_base_and_lifetime_of_an_order_are_optional() -> None:
    assert read_order(b'{"arguments": {"how": "spin"}}') == ({"how": "spin"}, None, LIFETIME_S)


@pytest.mark.parametrize("line", [b"", b"[" * 100_000, b"\xff\n"])
def test_a_process_refuses_an_invalid_order(line: bytes) -> None:
    assert "one line of JSON" in refusal("spin", line=line)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("spin", {"hwo": "spin"}, "unknown argument 'hwo'; did you mean \"how\"?"),
        ("spin", {"how": "selectr"}, "how cannot be 'selectr'; did you mean \"selector\"?"),
        ("spin", {"how": ["spin"]}, "how cannot be ['spin']; known: spin, selector"),
        ("spin", {"sockets": 0}, "sockets must be a whole number between 1 and 100, not 0"),
        ("spin", {"sockets": True}, "sockets must be a whole number between 1 and 100, not True"),
        ("spin", {"sockets": 1.0}, "sockets must be a whole number between 1 and 100, not 1.0"),
        ("spin", {"wait_ms": 2501}, "wait_ms must be a whole number between 1 and 2500, not 2501"),
        ("spin", {"wait_ms": "500"}, "wait_ms must be a whole number between 1 and 2500, not '500'"),
        ("races", {"switch_interval_us": -1}, "switch_interval_us must be"),
        ("selectors", {"idle": 10**30}, "idle must be a whole number between 0 and 1000000, not one outside"),
        ("stack_ripping", {"strategy": "aiohttp_client"}, "strategy cannot be 'aiohttp_client'"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(name: str, arguments: dict[str, object], said: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        measure(name, arguments, "http://127.0.0.1:1")

    assert str(refused.value).startswith(said)


def test_a_process_refuses_a_bad_argument() -> None:
    assert "idle must be" in refusal("selectors", line='{"arguments": {"idle": ' + "9" * 4000 + "}}")


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in {"spin", "races"}])
@pytest.mark.parametrize(
    "base", [None, "", "http://192.0.2.1:80", "http://127.0.0.1", "http://127.0.0.1:65536", "http://127.0.0.1:1/x"]
)
def test_a_probe_that_crawls_needs_a_server_on_this_machine(name: str, base: str | None) -> None:
    with pytest.raises(ArgumentError, match="base must be"):
        measure(name, {}, base)


def test_a_crash_differs_from_a_refusal() -> None:
    # Nobody listens on port 1: the planted error is never reached.
    done = run("stack_ripping", line=json.dumps({"arguments": {}, "base": "http://127.0.0.1:1"}))

    assert done.returncode == 1
    assert b"RuntimeError" in done.stderr


def test_the_kernel_ends_a_probe_after_its_lifetime() -> None:
    order = {"arguments": {"how": "spin", "wait_ms": 2500}, "base": None, "lifetime_s": 0.2}

    assert run("spin", line=json.dumps(order)).returncode == -signal.SIGALRM


def ignores_ctrl_c(pid: int) -> bool:
    """Return whether a process ignores SIGINT (proc(5), SigIgn)."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (ignored,) = re.findall(r"^SigIgn:\s*(\w+)$", status, re.MULTILINE)
    return bool(int(ignored, 16) >> signal.SIGINT - 1 & 1)


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc tells which signals a process ignores")
def test_ctrl_c_is_left_to_the_controller() -> None:
    command = [sys.executable, "-P", "-m", "inflight.bench.measure.programs", "spin"]
    order = json.dumps({"arguments": {"how": "selector", "wait_ms": 2500}, "base": None}).encode() + b"\n"
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as probe:
        assert probe.stdin is not None
        probe.stdin.write(order)
        probe.stdin.flush()
        until(lambda: ignores_ctrl_c(probe.pid))
        os.killpg(probe.pid, signal.SIGINT)
        said, complaints = probe.communicate()

    assert "measured" in json.loads(said)
    assert not complaints
