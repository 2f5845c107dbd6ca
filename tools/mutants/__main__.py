"""Run mutants; see tools/mutants/__init__.py."""

import argparse
import itertools
import json
import math
import queue
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools import mutants as described
from tools.mutants.copies import BUDGET_S, OUT_OF_BUDGET, STOP, Copy, Outcome, tried
from tools.mutants.draw import Mutant, is_python, mutated, ranked
from tools.mutants.inflight_mutants import unordered

SETS = {"test": "not ci and not night", "test-all": "ci"}
"""What is tried, in this order, with its marker expression: ``make test``, then what ``make test-all`` adds."""


@dataclass(frozen=True, slots=True)
class Room:
    """Globs of sources, and the tests that are tried: about 20 CPU seconds, or 100 if real trials are needed."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]
    without: tuple[str, ...] = ()
    """Globs of sources that are left out."""
    only: str = ""
    """The expression for ``pytest -k``."""
    by_folder: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tests of some sources, by the beginning of their paths, in place of ``tests``."""

    @property
    def every_test(self) -> tuple[str, ...]:
        """All tests that are tried for some mutant."""
        return tuple(dict.fromkeys([*self.tests, *itertools.chain.from_iterable(self.by_folder.values())]))


CONFORMANCE = "inflight/conformance"
# The tests of the suite are run for every strategy. Of these, callbacks is in make test, and others in test-all.
SOME_MODELS = "not test_crawl_ or callbacks or process_pool"
ROOMS = {
    "core": Room(
        ("strategies/core/*.py",),
        ("tests/core", "tests/measure/test_record.py", "tests/measure/test_cpu_work.py", CONFORMANCE),
        only=SOME_MODELS,
    ),
    "fake_server": Room(("fake_server/*.py",), ("tests/fake_server", CONFORMANCE), only=SOME_MODELS),
    "measure": Room(
        ("bench/measure/**/*.py", "bench/claims/programs/*.py"),
        ("tests/measure",),
        without=("bench/measure/limits/*.py",),  # a mutant of a ramp could take all processes of the machine
        only="not test_strategies_from_elsewhere and not test_given_interpreters",
        by_folder={
            "bench/claims/programs/": ("tests/probes",),
            "bench/measure/swarm/": ("tests/swarm",),
        },
    ),
    "rows": Room(
        ("bench/rows/*.py",),
        ("tests/test_rows.py", "tests/report/test_hostile_rows.py", "tests/measure/test_trial_template.py"),
    ),
    "show": Room(
        ("bench/show/*.py",),
        ("tests/show/test_outputs.py", "tests/show/test_answer.py", "tests/show/test_texts.py"),
    ),
    "claims": Room(("bench/claims/*.py",), ("tests/claims",)),
    "statistics": Room(
        (
            "bench/frame/statistics.py", "bench/frame/slopes.py", "bench/frame/contrast.py",
            "bench/measure/swarm/schedule.py",
        ),
        (
            "tests/analyse", "tests/frame", "tests/show/test_memory_shown.py",
            "tests/swarm/test_arrivals.py",
        ),
    ),
    "verdict": Room(
        ("bench/ab/rule.py", "bench/ab/decide.py", "bench/frame/blocks.py"),
        (
            "tests/ab/test_decide.py", "tests/frame/test_blocks_values.py", "tests/ab/test_rule.py",
            "tests/ab/test_ab_command.py", "tests/ab/test_verdict_shown.py",
        ),
    ),
}  # fmt: skip


def files(checkout: Path, room: Room) -> list[Path]:
    """Return the sources of a room. Raises SystemExit for a glob or a test that matches nothing."""
    for glob in (*room.sources, *room.without, *room.every_test):
        if not any(checkout.glob(glob)):
            raise SystemExit(f"mutants: {glob} of ROOMS matches no file in {checkout}; correct the table")
    without = {path for glob in room.without for path in checkout.glob(glob)}
    return sorted({path for glob in room.sources for path in checkout.glob(glob)} - without)


def baseline(place: Copy, name: str, costs: Mapping[str, float]) -> dict[str, bool]:
    """Run the tests of a room without a mutant; return which sets have tests. Raises SystemExit if some fail."""
    tests = {}
    for key, marks in SETS.items():
        outcome = tried(place, ROOMS[name].every_test, marks, costs, ["-k", ROOMS[name].only], math.inf)
        tests[key] = outcome.any_tests
        print(f"{name}, no mutant, {key}: {outcome.cpu_seconds:.1f} CPU s", file=sys.stderr, flush=True)
        if outcome.failures:
            lines = "".join(f"\n  {test}: {reason}" for test, reason in outcome.failures)
            raise SystemExit(f"mutants: tests of the room {name} fail without a mutant:{lines}")
    return tests


def judged(place: Copy, mutant: Mutant, sets: Mapping[str, bool], costs: Mapping[str, float]) -> dict[str, Any]:
    """Try the tests of a mutant's room on it, and return the line of the results."""
    used_s, outcome = 0.0, Outcome([], 0.0)
    room, by = ROOMS[mutant.room], None
    of_folder = (tests for place, tests in room.by_folder.items() if mutant.site.file.startswith(place))
    tests = next(of_folder, room.tests)
    with place.with_mutant(mutant.site):
        for key, marks in SETS.items():
            if sets[key] and not outcome.failures and used_s < BUDGET_S:
                outcome = tried(place, tests, marks, costs, ["-x", "-k", room.only], BUDGET_S - used_s)
                used_s += outcome.cpu_seconds
                by = key if outcome.failures else None
    test, reason = outcome.failures[0] if outcome.failures else ("", OUT_OF_BUDGET if used_s >= BUDGET_S else "")
    site = {name: value for name, value in asdict(mutant.site).items() if name not in {"start", "end", "function"}}
    return {
        "room": mutant.room, "rank": mutant.rank, **site, "status": "killed" if outcome.failures else "survived",
        "by": by, "test": test, "reason": reason, "cpu_seconds": round(used_s, 1),
    }  # fmt: skip


def table(lines: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return the number of drawn mutants of each room, and of those that each set of tests kills."""
    counts: dict[str, Counter[str]] = {line["room"]: Counter() for line in lines}
    for line in lines:
        killed = line["status"] == "killed"
        counts[line["room"]] += Counter(drawn=1, test=killed and line["by"] == "test", **{"test-all": killed})
    return {name: {key: counts[name][key] for key in ("drawn", *SETS)} for name in ROOMS if name in counts}


def share_text(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Return a table as text."""
    lines = [f"{'room':12} drawn   killed by make test   by make test-all"]
    for name, room in counts.items():
        shares = [f"{room[key]:4} ({room[key] / room['drawn']:6.1%})" for key in SETS]
        lines.append(f"{name:12} {room['drawn']:5}   {shares[0]:>19}   {shares[1]:>16}")
    return "\n".join(lines)


def lower(counts: Mapping[str, Mapping[str, int]], stored: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return one sentence for each share that is lower than the stored one."""
    return [
        f"{name}: make {key} kills {room[key]} of {room['drawn']} mutants; it killed {old[key]} of {old['drawn']}"
        for name, room in counts.items()
        if (old := stored.get(name))
        for key in SETS
        if room[key] * old["drawn"] < old[key] * room["drawn"]
    ]


def chosen(asked: argparse.Namespace, checkout: Path) -> list[Mutant]:
    """Return the mutants to run: drawn, or those that another file of results lists as killed."""
    wanted = None
    if asked.only_killed:
        wanted = {(line["room"], line["rank"]) for line in results(asked.only_killed) if line["status"] == "killed"}
    sites: list[Mutant] = []
    for name in asked.room or ROOMS:
        paths = files(checkout, ROOMS[name])
        texts = {str(path.relative_to(checkout)): path.read_text(encoding="utf-8") for path in paths}
        mutants = ranked(name, texts, asked.seed)
        print(f"{name}: {len(mutants)} possible mutants in {len(texts)} files", file=sys.stderr)
        if wanted is None:
            sound = (mutant for mutant in mutants if is_python(mutated(texts[mutant.site.file].encode(), mutant.site)))
            sites += itertools.islice(sound, asked.mutants // len(ROOMS))
            continue
        drawn = [mutant for mutant in mutants if (name, mutant.rank) in wanted]
        sites += drawn
        if gone := sum(room == name for room, _ in wanted) - len(drawn):
            print(f"{name}: {gone} mutants of {asked.only_killed} are no longer in the code", file=sys.stderr)
    return sites


def results(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file of results."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def run(asked: argparse.Namespace, mutants: Sequence[Mutant], checkout: Path, folder: Path) -> None:
    """Run mutants in several copies of the checkout at once, and append a line to the results after each."""
    costs = json.loads(asked.costs.read_text(encoding="utf-8")) if asked.costs else {}
    costs = {unordered(nodeid): seconds for nodeid, seconds in costs.items()}
    places: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    for number in range(asked.jobs):
        places.put(Copy(checkout, folder / str(number)))
    lock, numbers = threading.Lock(), itertools.count(1)

    def in_a_copy(work: Callable[[Copy], Any]) -> Any:
        place = places.get()
        try:
            return work(place)
        finally:
            places.put(place)

    def try_out(mutant: Mutant) -> None:
        line = in_a_copy(lambda place: judged(place, mutant, sets[mutant.room], costs))
        with lock, asked.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            print(
                f"{next(numbers)}/{len(mutants)} {mutant.room} {line['file']}:{line['line']} {line['kind']}: "
                f"{line['status']} {line['by'] or line['reason']} {line['test']} ({line['cpu_seconds']} CPU s)",
                file=sys.stderr, flush=True,
            )  # fmt: skip

    with ThreadPoolExecutor(asked.jobs) as pool:
        try:
            names = [name for name in ROOMS if any(mutant.room == name for mutant in mutants)]
            baselines = pool.map(lambda name: in_a_copy(lambda place: baseline(place, name, costs)), names)
            sets = dict(zip(names, baselines, strict=True))
            for _ in pool.map(try_out, mutants):
                pass
        except BaseException:
            STOP.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def main() -> None:
    """Run the mutants that are not in the results, print the table, and compare it with a stored one."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutants", description=str(described.__doc__).partition("\n")[0]
    )
    parser.add_argument("--room", action="append", choices=ROOMS, help="only this room (may be repeated)")
    parser.add_argument("--mutants", type=int, default=50 * len(ROOMS), help="mutants in all rooms together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="mutants that are run at once")
    parser.add_argument("--checkout", type=Path, default=Path(__file__).parents[2])
    parser.add_argument("--costs", type=Path, help="CPU seconds of each test, written by pytest --costs FILE")
    parser.add_argument(
        "--out", type=Path, default=Path("mutants.jsonl"), help="results; those in it are not run again"
    )
    parser.add_argument("--only-killed", type=Path, help="run only what this file of results lists as killed")
    parser.add_argument("--baseline", type=Path, help="exit with 1 if a share is lower than in this table")
    parser.add_argument("--store", type=Path, help="write the table to this file, for --baseline")
    asked = parser.parse_args()
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    mutants = chosen(asked, checkout := asked.checkout.resolve())
    done = {(line["room"], line["rank"]) for line in results(asked.out)}
    left = [mutant for mutant in mutants if (mutant.room, mutant.rank) not in done]
    if left:
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            run(asked, left, checkout, Path(folder).resolve())
    drawn = {(mutant.room, mutant.rank) for mutant in mutants}
    counts = table([line for line in results(asked.out) if (line["room"], line["rank"]) in drawn])
    print(share_text(counts))
    if asked.store:
        asked.store.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    if asked.baseline and (worse := lower(counts, json.loads(asked.baseline.read_text(encoding="utf-8")))):
        raise SystemExit("\n".join(worse))


if __name__ == "__main__":
    main()
