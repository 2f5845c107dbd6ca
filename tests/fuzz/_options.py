"""The options that all programs here have."""

import argparse
from random import Random
from typing import Any


def read_options(description: str, **more: Any) -> argparse.Namespace:
    """Return what a program was asked for; ``more`` are options of its own by their names, with their defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seconds", type=float, default=60, help="how long to look (60)")
    parser.add_argument("--cases", type=int, help="how many cases to look at, however long it takes")
    parser.add_argument(
        "--seed",
        type=int,
        default=Random().randrange(10**6),
        help="which cases; by default any",
    )
    for name, default in more.items():
        parser.add_argument(
            f"--{name}",
            type=type(default),
            default=default,
            help="see the first lines of the program",
        )
    return parser.parse_args()
