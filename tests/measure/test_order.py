"""The order of slices is balanced for every seed."""

from collections import Counter
from itertools import pairwise, permutations
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.measure.blocks.block import draw_order

ARMS, SEEDS = st.integers(1, 9), st.integers()


def whole_round(arms: int) -> int:
    """Return the number of cycles of the design."""
    return arms if arms % 2 == 0 else 2 * arms


@given(ARMS, st.integers(0, 40), SEEDS)
def test_each_cycle_has_each_arm_once(arms: int, cycles: int, seed: int) -> None:
    found = draw_order(arms, cycles, Random(seed))

    assert len(found) == cycles
    assert all(sorted(order) == list(range(arms)) for order in found)


@given(ARMS, st.integers(1, 3), SEEDS)
def test_over_whole_rounds_each_arm_follows_each_other_one_equally_often(arms: int, rounds: int, seed: int) -> None:
    found = draw_order(arms, rounds * whole_round(arms), Random(seed))

    followed = Counter(pair for order in found for pair in pairwise(order))
    often = rounds if arms % 2 == 0 else 2 * rounds
    assert followed == dict.fromkeys(permutations(range(arms), 2), often)


@given(ARMS, st.integers(1, 3), SEEDS)
def test_over_whole_rounds_each_arm_has_each_place_equally_often(arms: int, rounds: int, seed: int) -> None:
    cycles = rounds * whole_round(arms)

    found = draw_order(arms, cycles, Random(seed))

    places = Counter((place, arm) for order in found for place, arm in enumerate(order))
    assert set(places.values()) == {cycles // arms}


@given(ARMS, st.integers(1, 40), SEEDS)
def test_a_longer_order_begins_like_a_shorter_one_with_the_same_seed(arms: int, cycles: int, seed: int) -> None:
    assert draw_order(arms, cycles, Random(seed)) == draw_order(arms, cycles + 20, Random(seed))[:cycles]


def test_another_seed_draws_another_order() -> None:
    assert len({str(draw_order(4, 4, Random(seed))) for seed in range(10)}) > 1
