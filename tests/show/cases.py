"""Cases that no recording has: recorded rows with values changed. Their text is stored in ``tests/recorded/cases``."""

from collections.abc import Callable

from inflight.bench.claims.evaluate import chosen, read
from inflight.bench.rows.files import Row
from tests.outputs import recorded
from tests.varied import Change, varied

FAST, SLOW, MEMORY = "latency == '0' and kind == 'arm'", "latency == '50ms'", "kind == 'memory'"
ALL = "round > 0"
THREADS, ASYNCIO, GENERATORS, CALLBACKS = (
    f"strategy == '{name}'" for name in ("thread_pool", "native_asyncio", "generators", "callbacks")
)


def of(run: str, query: str, *changes: Change) -> list[Row]:
    """Return the rows of a run that a query selects, changed."""
    rows = recorded(run)
    return varied([rows[place] for place in chosen(read(rows), query).index], *changes)


def both(*runs: str) -> list[Row]:
    return [row for run in runs for row in recorded(run)]


QUOTA = {"cores": 1.0, "periods": 50, "throttled": 3, "throttled_ns": 90_000_000}
REFUSED = {"lacks": {"system calls": "ptrace is refused"}, "system_calls_per_page": None, "system_calls": None}
NO_CALLS = {
    "lacks": {"calls": "the strategy has child processes"},
    **dict.fromkeys(("python_calls_per_page", "c_calls_per_page", "python_calls", "c_calls")),
}
PID_MAX = {"name": "kernel.pid_max", "allows": 29_000, "sentence": "kernel.pid_max leaves 29,000 threads; raise it"}
KILLED = {"what": "strategy process", "share": 1, "pid": 4321, "how": "was killed", "in_flight": 16_666, "at_ns": 4}

CASES: dict[str, Callable[[], list[Row]]] = {
    "nothing": list,
    # The answer
    "asyncio is cheaper": lambda: of("quick", FAST, (ASYNCIO, {"cost": 0.4})),
    "threads and asyncio are alike": lambda: of("quick", FAST, (ASYNCIO, {"cost": 0.69})),
    "asyncio fetches less on slow sites": lambda: of("quick", SLOW, (ASYNCIO, {"rate": 0.5})),
    "memory is alike": lambda: of("quick", MEMORY, (THREADS, {"held": 0.243})),
    "memory over TLS turns round": lambda: [
        *of("quick", MEMORY),
        *of("quick", MEMORY, (ALL, {"workload.tls": True}), (ASYNCIO, {"held": 20.0})),
    ],
    "memory over TLS is alike": lambda: [
        *of("quick", MEMORY),
        *of("quick", MEMORY, (ALL, {"workload.tls": True}), (THREADS, {"held": 0.243})),
    ],
    "no valid trial of asyncio": lambda: of("quick", FAST, (ASYNCIO, "invalid")),
    "no asyncio": lambda: of("quick", f"{FAST} and not ({ASYNCIO})"),
    "a single model": lambda: of("quick", f"{FAST} and {CALLBACKS}"),
    "one block": lambda: of("quick", f"{FAST} and round == 1"),
    "a noisy run": lambda: of("quick", f"{FAST} or {SLOW}", (FAST, {"others_share": lambda _: 0.5})),
    "some failed": lambda: of("quick", FAST, (GENERATORS, "failed"), (f"{ASYNCIO} and round == 2", "not installed")),
    "all failed": lambda: of("quick", f"{FAST} and round == 1", (ALL, "failed")),
    "all invalid": lambda: of("quick", FAST, (ALL, "invalid")),
    "asyncio jumps": lambda: of("quick", FAST, (f"{ASYNCIO} and round != 2", {"cost": 9.0})),
    "a client of a user": lambda: of("quick", f"{FAST} or {SLOW}", (GENERATORS, {"name": "my_client", "cost": 3.0})),
    "a client with threads": lambda: of("quick", FAST, (GENERATORS, {"name": "my_client", "peak_threads": 101})),
    "a client with a limit": lambda: of("quick", SLOW, (GENERATORS, {"reached_in_flight": 100, "rate": 0.5})),
    "limits of how many": lambda: varied(both("quick", "limits"), (f"({FAST}) and {THREADS}", {"peak_threads": 101})),
    "a limit that is not known": lambda: varied(
        [*of("quick", FAST), *of("limits", "strategy == 'descriptors'")],
        ("kind == 'limit'", {"found": None, "predicted": None, "predicted_by": None, "stopped_by": "predicted"}),
    ),
    "memory of wild sizes": lambda: of("quick", MEMORY, (f"{GENERATORS} and in_flight in (300, 1150)", {"held": 6.0})),
    # What does not count, and conditions
    "a quota": lambda: of("quick", f"{FAST} and round == 1", (ALL, {"quota": QUOTA})),
    "slow cores": lambda: of("quick", f"{FAST} and round == 1", (CALLBACKS, {"core_kinds": [1]})),
    "a run on purpose disturbed": lambda: of("quick-disturbed", "round == 1 and kind == 'arm'"),
    # Studies of timed trials
    "a full server and a late one": lambda: of(
        "quick",
        SLOW,
        (THREADS, {"server.cpu_share": 0.85, "server.run_delay_share": 0.06}),
        (ALL, {"late_ns": 2_000_000}),
    ),
    "two kinds of connections": lambda: varied(
        both("race"), (f"{CALLBACKS} or {GENERATORS}", {"workload.connection": "per-fetch"}), (GENERATORS, "invalid")
    ),
    "equal within the margin": lambda: [
        *of("quick", f"{SLOW} and {CALLBACKS}"),
        *of("quick", f"{SLOW} and {CALLBACKS}", (ALL, {"name": "other"})),
    ],
    "a map with ties": lambda: of("map", f"{CALLBACKS} or {GENERATORS}", (GENERATORS, {"rate": 0.5})),
    # Counts
    "counts beside CPU time": lambda: [*of("quick", f"({FAST}) and {CALLBACKS}"), *recorded("counts")],
    "counts of all kinds": lambda: of(
        "counts",
        ALL,
        (CALLBACKS, {"totals": {"python_calls": [5400, 5454]}, "repeats_equal": False, "bytecodes_per_page": 698.0}),
        (GENERATORS, {"workload.repeats": 1, "totals": {"python_calls": [9600]}, "repeats_equal": None}),
        (f"{THREADS} or {ASYNCIO}", REFUSED),
        ("strategy == 'aiohttp_client'", NO_CALLS),
        ("strategy == 'core_client'", "failed"),
    ),
    "counts of a client": lambda: of(
        "counts", f"{CALLBACKS} or {GENERATORS} or {ASYNCIO}", (GENERATORS, {"name": "my_client"})
    ),
    # Listings
    "held by some": lambda: of(
        "c10k",
        ALL,
        (f"{THREADS} and round == 1", {"reach_ns": 1.5}),
        ("strategy == 'aiohttp_client' and connection == 'keep-alive'", "invalid"),
        (f"{CALLBACKS} and connection == 'per-fetch'", "limit"),
    ),
    "held alike": lambda: of("c10k", f"{CALLBACKS} or {THREADS}", (ALL, {"reach_ns": lambda _: 10**9})),
    "limits of other kinds": lambda: of(
        "limits",
        ALL,
        ("strategy == 'threads'", {"bound_by": ["a", "b"], "remedy": None}),
        ("strategy == 'ports'", {"found": None}),
        ("strategy == 'memory'", {"bound_by": None, "stopped_by": "deadline"}),
        ("strategy == 'backlog'", "invalid"),
        ("strategy == 'descriptors'", "failed"),
    ),
    "a swarm with losses": lambda: of(
        "c100k",
        "in_flight >= 80000",
        (f"{GENERATORS} and in_flight == 100000", {"lost": [KILLED], "reach_ns": None, "held_in_flight": 83_334}),
        (f"{GENERATORS} and in_flight == 100000", "invalid"),
        (f"{CALLBACKS} and in_flight == 100000", {"workload.ramp_per_s": 5000, "bound_by": PID_MAX}),
        (f"{ASYNCIO} and in_flight == 80000", {"held_disturbed": "+9 tasks"}),
    ),
    "rates not kept": lambda: of(
        "open-loop",
        ALL,
        ("rate_per_s >= 4000", {"kept": False, "why": "the core was full"}),
        ("rate_per_s == 500", "invalid"),
    ),
    "no rate kept": lambda: of("open-loop", "rate_per_s >= 4000", (ALL, {"kept": False, "why": "the core was full"})),
    # Memory
    "memory that bends": lambda: of("memory", "strategy == 'thread'", ("in_flight > 5000", {"held": 5.0})),
    "memory of unknown layers": lambda: of(
        "memory",
        "kind == 'idle'",
        (
            "strategy == 'asyncio_task'",
            dict.fromkeys(("base_slab_bytes", "held_slab_bytes", "held_kernel_stack_bytes")),
        ),
    ),
    "memory that others disturbed": lambda: of(
        "memory",
        "kind == 'idle'",
        (
            "strategy == 'thread' and in_flight in (2000, 4000)",
            {"held_disturbed": "+9 tasks", "held_slab_bytes": 10**12},
        ),
    ),
    "too few sizes of memory": lambda: of("memory", "kind == 'memory' and in_flight < 6000"),
    "memory of own stacks alone": lambda: of("memory", "strategy == 'aiohttp_client'"),
    "memory of two connections": lambda: varied(both("memory"), (CALLBACKS, {"workload.connection": "keep-alive"})),
}
