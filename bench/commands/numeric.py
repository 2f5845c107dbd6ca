"""Numbers on the command line: types of click whose errors say in one sentence what to write."""

import math
from collections.abc import Callable
from typing import Any

import click


class Whole(click.ParamType):  # type: ignore[type-arg]  # it is generic since click 8.4 only
    """A whole number between two bounds; without bounds, the command checks them itself."""

    name = "whole number"
    read: Callable[[Any], float] = int

    def __init__(self, least: float | None = None, most: float | None = None) -> None:
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number. Raises click.BadParameter for other texts, and for numbers out of bounds."""
        try:
            number = type(self).read(value)
            is_number = not math.isnan(number)
        except ValueError:
            is_number = False
        if not is_number:
            self.fail(f'"{value}" is not a {self.name}; {self._advice}', param, ctx)
        if self._least is not None and self._most is not None and not self._least <= number <= self._most:
            size = "large" if number > self._most else "small"
            self.fail(f"{value} is too {size}; {self._advice}", param, ctx)
        return number

    @property
    def _advice(self) -> str:
        bounds = "" if self._least is None else f" from {self._least} to {self._most}"
        return f"write a {self.name}{bounds}, in digits"


class Real(Whole):
    """A number between two bounds, with or without decimals."""

    name = "number"
    read: Callable[[Any], float] = float
