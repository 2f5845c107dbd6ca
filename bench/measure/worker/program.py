"""The worker of a probe: run one program (``inflight.bench.claims.programs``), and report what it measured.

``measure.bare.run_probe`` runs it as a program, with the module of the probe on the command line and its arguments in
the order.
"""

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from inflight.bench.measure.worker import take_order


def measure(module: str, arguments: Mapping[str, Any], base: str | None) -> dict[str, Any]:
    """Return what a program measured, with its arguments; those that are not given have their first usual value."""
    program = importlib.import_module(module)
    given: dict[str, Any] = {argument: values[0] for argument, values in program.ARGUMENTS.items()} | dict(arguments)
    measured: dict[str, Any] = program.measure(base, **given)
    return given | measured


def main() -> None:
    """Measure as the order says, and report the result. The command line has the module of the program."""
    say, order = take_order()
    say({"measured": measure(sys.argv[1], order["arguments"], order["base"])})


if __name__ == "__main__":
    main()
