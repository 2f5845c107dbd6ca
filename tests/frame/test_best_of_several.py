"""How often the fastest of several strategies seems to be ahead, as docs/decisions.md says: by simulation."""

import math
import random

import pytest

from inflight.bench.frame import statistics as stats
from tests.frame.answers import answer

pytestmark = pytest.mark.night
STRATEGIES, NOISE, TIMES = 4, 0.03, 1500


def behind(blocks: int, lead: float, noise: random.Random) -> list[int]:
    """Return which strategies differ from the fastest; the first has a lead."""
    logs = [
        {block: noise.gauss(lead if number == 0 else 0.0, NOISE) for block in range(blocks)}
        for number in range(STRATEGIES)
    ]
    fastest = max(range(STRATEGIES), key=lambda number: sum(logs[number].values()))
    compared = {n: stats.compare(logs[n], logs[fastest]) for n in range(STRATEGIES) if n != fastest}
    p_values = stats.adjusted(compared)
    return [n for n, found in compared.items() if answer(found, p_values[n]) == "differs"]


@pytest.mark.parametrize(("blocks", "most"), [(3, 0.08), (6, 0.10)])
def test_equal_strategies_seldom_seem_to_differ(blocks: int, most: float) -> None:
    noise = random.Random(blocks)

    assert sum(bool(behind(blocks, 0.0, noise)) for _ in range(TIMES)) / TIMES < most


def test_a_strategy_that_is_half_as_fast_again_is_found_in_three_blocks() -> None:
    noise = random.Random(1)

    found = [behind(3, math.log(1.5), noise) for _ in range(200)]

    assert sum(len(one) == STRATEGIES - 1 for one in found) / 200 > 0.95
