"""What all probes have in common: names, arguments, one line in, one line out."""

import importlib
import itertools
import json
import signal
from typing import get_type_hints

import msgspec
import pytest

from inflight.bench.plan.bare import PROBES
from inflight.bench.rows.kinds import Probe
from inflight.fake_server.site import SiteConfig
from tests.patience import FOREVER_S
from tests.probes.asking import run

KNOWN = ("cancel_workers", "races", "selectors", "spin", "stack_ripping", "thread_per_fetch")


def test_the_probes_are_found_by_their_files() -> None:
    assert set(KNOWN) <= set(PROBES)
    assert not [name for name in PROBES if name.startswith("_")]


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_documents_itself_and_its_arguments(name: str) -> None:
    module = importlib.import_module(PROBES[name])

    assert (module.__doc__ or "").splitlines()[0].endswith((".", ":"))
    assert all(values and isinstance(values, tuple) for values in module.ARGUMENTS.values())
    assert json.dumps(list(itertools.product(*module.ARGUMENTS.values())))
    if module.SITE is not None:
        assert SiteConfig.from_dict(module.SITE)


@pytest.mark.parametrize("name", PROBES)
def test_a_row_can_hold_every_usual_argument(name: str) -> None:
    usual = importlib.import_module(PROBES[name]).ARGUMENTS

    for values in itertools.product(*usual.values()):
        msgspec.convert(dict(zip(usual, values, strict=True)), get_type_hints(Probe, include_extras=True)["measured"])


def test_a_crash_is_the_exit_code() -> None:
    # Nobody listens on port 1: the planted error is never reached.
    done = run(
        "stack_ripping",
        line=json.dumps(
            {
                "arguments": {},
                "base": "http://127.0.0.1:1",
                "lifetime_s": FOREVER_S,
            }
        ),
    )

    assert done.returncode == 1
    assert b"RuntimeError" in done.stderr


def test_the_kernel_ends_a_probe_after_its_lifetime() -> None:
    order = {"arguments": {"how": "spin", "wait_ms": 2500}, "base": None, "lifetime_s": 0.2}

    assert run("spin", line=json.dumps(order)).returncode == -signal.SIGALRM
