"""The fuzz programs, each on a fixed set of cases; run as programs they look for new ones."""

import sys
from pathlib import Path

import pytest

from tests.processes import run_to_end

CASES = [
    ("client", 600),
    ("server", 128),
    pytest.param("rows", 1, marks=pytest.mark.ci),
    pytest.param("client", 30_000, marks=pytest.mark.night),
    pytest.param("server", 6_400, marks=pytest.mark.night),
    pytest.param("rows", 20, marks=pytest.mark.night),
]


@pytest.mark.parametrize(("program", "cases"), CASES)
def test_no_known_case_does_harm(program: str, cases: int) -> None:
    command = [
        sys.executable,
        str(Path(__file__).with_name(f"{program}.py")),
        "--seed",
        "12",
        "--cases",
        str(cases),
    ]

    run = run_to_end(command)

    assert (run.returncode, run.stderr) == (0, ""), run.stdout
    assert run.stdout == f"{program}: {cases:,} cases with seed 12, nothing found\n"
