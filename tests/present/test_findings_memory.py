"""The titles of the memory plots: what they say of the data, and what they do not dare to say."""

from typing import Any

from bench.core.figures import NoSlope, Slope, Spread, spread
from bench.core.layers import LAYERS, Cost
from bench.studies.memory.findings import of_in_flight, of_layers
from bench.studies.memory.subjects import BLOCKS, IN_FLIGHT, PARKED, Subject

S = 1_000_000_000


def slope(per_fetch: float, error: float = 1, *, straight: bool = True) -> Slope:
    return Slope(per_fetch, per_fetch - error, per_fetch + error, 0, straight, 10, 5)


def subject(
    name: str, user: float, kernel: float | None = 0, *, group: str = BLOCKS, stack: str = "none", **of_full: Any
) -> Subject:
    """Make a subject with user memory and kernel stacks; None: what the kernel has is unknown."""
    unknown = NoSlope("unknown here")
    layers: dict[str, Slope | NoSlope] = dict.fromkeys(LAYERS, slope(0))
    layers |= {"user": slope(user, **of_full), "kernel stacks": unknown if kernel is None else slope(kernel)}
    full = unknown if kernel is None else slope(user + kernel, **of_full)
    return Subject(name, stack, group, "held", (), Cost(layers, full, slope(user), 10_000))


def strategy(name: str, user: float, stack: str = "shared", group: str = IN_FLIGHT) -> Subject:
    return subject(name, user, 8000, group=group, stack=stack)


def test_the_blocks_that_people_compare_are_compared() -> None:
    found = [subject("generator", 400), subject("asyncio_task", 1000), subject("thread", 16_000, 28_000)]

    assert (
        of_layers(found)
        == "A parked thread costs 44.0 kB, 28 kB of it in the kernel; a parked asyncio task 1.00 kB: 44x"
    )


def test_without_that_pair_the_ends_are_compared() -> None:
    found = [subject("generator", 400), subject("generator_task", 600)]

    assert of_layers(found) == "A parked generator + task costs 600 B; a parked generator 400 B: 1.5x"


def test_strategies_are_compared_where_there_are_no_blocks_those_of_the_shared_stack_first() -> None:
    found = [strategy("callbacks", 400), strategy("generators", 2000), strategy("aiohttp_client", 9000, "own")]

    assert of_layers(found) == (
        "One more fetch in flight costs 10.0 kB with generators, 8.0 kB of it in the kernel; "
        "8.40 kB with callbacks: 1.2x"
    )


def test_parked_workers_are_named_as_such() -> None:
    assert of_layers([strategy("callbacks", 400, group=PARKED)]).startswith("One more parked worker costs 8.40 kB with")


def test_intervals_that_meet_are_no_difference() -> None:
    found = [subject("generator", 400, error=200), subject("generator_task", 600, error=200)]

    assert of_layers(found).endswith("; a parked generator 400 B: the intervals overlap")


def test_wide_intervals_make_no_ratio() -> None:
    found = [subject("generator", 400, error=190), subject("generator_task", 6000)]

    assert of_layers(found) == "A parked generator + task costs 6.00 kB; a parked generator 400 B"


def test_what_is_not_known_in_full_is_called_user_memory() -> None:
    assert of_layers([subject("thread", 16_000, None)]) == "A parked thread costs 16.0 kB of user memory"


def test_where_one_alone_is_known_in_full_user_memory_is_compared() -> None:
    found = [subject("generator", 200), subject("asyncio_task", 1000, None), subject("thread", 16_000, None)]

    assert of_layers(found) == "A parked thread costs 16.0 kB of user memory; a parked asyncio task 1.00 kB: 16x"


def test_bent_lines_conclude_nothing() -> None:
    assert of_layers([subject("thread", 16_000, straight=False)]) == "No slope of memory: nothing to conclude"
    assert of_layers([]) == "No slope of memory: nothing to conclude"


def test_in_flight_names_the_first_and_the_last() -> None:
    reaches = {"a": spread([1 * S, 1 * S], (1, 2)), "b": spread([4 * S, 4 * S], (1, 2))}

    assert of_in_flight(10_000, {"": reaches}, 2) == (
        "2 strategies hold 10,000 fetches in flight at once: a after 1.00 s, b after 4.00 s"
    )


def test_in_flight_never_puts_the_times_of_two_settings_together() -> None:
    kept = {"a": spread([1 * S, 1 * S], (1, 2)), "b": spread([4 * S, 4 * S], (1, 2))}
    anew = {"a": spread([9 * S, 9 * S], (1, 2)), "b": spread([8 * S, 8 * S], (1, 2)), "c": spread([S, S], (1, 2))}

    assert of_in_flight(10_000, {"keep-alive connections": kept, "per-fetch connections": anew}, 3) == (
        "2 of 3 strategies hold 10,000 fetches in flight at once; "
        "keep-alive connections: a after 1.00 s, b after 4.00 s; per-fetch connections: b after 8.00 s, a after 9.00 s"
    )


def test_in_flight_names_no_first_that_chance_may_explain() -> None:
    reaches = {"a": spread([1 * S, 3 * S], (1, 2)), "b": spread([2.1 * S, 2.1 * S], (1, 2))}

    assert of_in_flight(10_000, {"": reaches}, 2).endswith("in flight at once, within 2.10 s of the order")


def test_in_flight_says_where_a_round_is_the_only_one() -> None:
    assert of_in_flight(10_000, {"": {"a": Spread(S, S, S, 1)}}, 1) == (
        "10,000 fetches in flight at once: a after 1.0 s (one round)"
    )
