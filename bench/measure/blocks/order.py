"""The order of slices: every arm follows every other arm equally often."""

from random import Random


def balanced(arms: int, cycles: int, draw: Random) -> list[list[int]]:
    """Return an order of the arms (0, 1, ...) for each cycle.

    They are the rows of a Williams design (E. J. Williams, 1949), in which each arm follows each other one equally
    often; for an odd number of arms, of the design and its mirror image. The places of the arms and the order of the
    rows are random. When all rows are used, they are taken again in another order.
    """
    names = list(range(arms))
    draw.shuffle(names)
    design = [[names[place] for place in row] for row in _williams(arms)]
    rows: list[list[int]] = []
    while len(rows) < cycles:
        draw.shuffle(design)
        rows += design
    return rows[:cycles]


def _williams(arms: int) -> list[list[int]]:
    """Return the rows of the design: the first zigzags, 0, 1, n - 1, 2, n - 2 ..., and each next one adds 1 (mod n)."""
    first = [(place + 1) // 2 if place % 2 else -(place // 2) for place in range(arms)]
    rows = [[(number + shift) % arms for number in first] for shift in range(arms)]
    return rows if arms % 2 == 0 else rows + [row[::-1] for row in rows]
