"""Cut the recorded runs of the tests out of the stored runs: ``make fixtures``.

A cut is small enough to be read, drawn and compared in a test, and real commands measured its rows. Cut again after a
stored run was replaced; then let the tests write their outputs again (``--update-outputs``).
"""

import json
import lzma
import shutil
import sys
from pathlib import Path
from typing import Any

from inflight.bench.rows import files

HERE = Path(__file__).parent
REFERENCE = HERE.parents[1] / "results" / "reference"
BESIDE = ("machine.json", "experiment.toml", "verdict.json")
"""The small files of a run that its outputs have something of."""
MODELS = ["callbacks", "callbacks again", "generators", "thread_pool", "native_asyncio"]
CUTS: dict[str, dict[str, list[Any]]] = {
    "quick": {"round": [1, 2, 3]},
    "quick-disturbed": {"round": [1, 2], "strategy": MODELS[:3]},
    "clients": {
        "round": [1, 2, 3],
        "strategy": ["aiohttp_client", "aiohttp_client again", "niquests_client", "requests_threads"],
        "in_flight": [16, 100, 150, 200, 275, 350, 2048],
    },
    "map": {"strategy": MODELS, "in_flight": [10], "latency": ["0", "50ms"]},
    "interpreters": {
        "round": [1, 2, 3],
        "strategy": [
            "callbacks 3.11.7",
            "callbacks 3.11.7 again",
            "callbacks 3.14.0a3t",
            "native_asyncio 3.14.0a3t",
        ],
    },
    "scaling": {"strategy": ["callbacks 3.14.0a3t", "callbacks 3.14.0a3t (cores=2)"], "cpu": [None, "1ms"]},
    "memory": {
        "round": [1],
        "strategy": [
            "thread",
            "asyncio_task",
            "callbacks",
            "thread_pool",
            "aiohttp_client",
        ],
    },
    "c10k": {"strategy": ["aiohttp_client", "callbacks", "thread_pool"]},
    "limits": {},
    "c100k": {},
    "open-loop": {},
    "counts": {},
    "race": {"round": [1]},
    "ab": {"round": list(range(1, 13))},
    "claims": {"round": [1], "kind": ["probe"]},
}
"""Of the newest run of an experiment, the rows with these values; what a row lacks is None."""


def main() -> None:
    """Cut them all."""
    for name, wanted in CUTS.items():
        run = max(REFERENCE.glob(f"*-{name}"))
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        lines = [row.to_json() for row in files.read(run)]
        values = [(line, json.loads(line)) for line in lines]
        lines = [
            line
            for line, row in values
            if all((row | row["workload"]).get(key) in allowed for key, allowed in wanted.items())
        ]
        text = "".join(f"{line}\n" for line in lines)
        (folder / files.PACKED_FILE).write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
        for file in BESIDE:
            if (run / file).exists():
                shutil.copy(run / file, folder)
        print(f"{name}: {len(lines)} rows", file=sys.stderr)


if __name__ == "__main__":
    main()
