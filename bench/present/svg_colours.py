"""The colours of plots inside a page: custom properties, each with a value for light and one for dark mode.

Known colours (``page``) have names, and both values are in ``templates/report.css``. Any other colour gets a property
of its own, whose values are computed here: dark enough for text on white, light enough for dark mode.
"""

import colorsys
from collections.abc import Iterable

from inflight.bench.present import name_looks, page

PAPER, DARK_PAPER = "#ffffff", "#14161a"
"""Background colours; ``templates/report.css`` has the same."""
LEAST_TEXT, LEAST_SHAPE = 4.5, 3.0
"""Least contrast of text, and of shapes (WCAG 2.2, 1.4.3 and 1.4.11)."""
_STEP = 0.02
_TINT = 0.8
"""A colour with a smaller share than this, the rest being white, is a background."""
_NAMED = {"#000000": "ink", "#ffffff": "paper", page.GREY.lower(): "grey", page.PALE.lower(): "pale"}
_NUMBERED = {colour.lower(): n for n, colour in enumerate(name_looks.COLOURS)}
_WORDS = {"black": "#000000", "white": "#ffffff"}


def variable(colour: str, *, of_text: bool) -> str:
    """Return the custom property of a colour, such as ``--c0``; text has one of its own if shapes are too pale."""
    colour = _WORDS.get(colour, colour)
    if colour in _NAMED:
        return f"--{_NAMED[colour]}"
    kind = "t" if of_text else "c"
    return f"--{kind}{_NUMBERED[colour]}" if colour in _NUMBERED else f"--{kind}-{colour[1:]}"


def rules(variables: Iterable[str]) -> str:
    """Return the style rules with the values of other colours (``--c-bbbbbb``)."""
    others = sorted({name for name in variables if name[3:4] == "-"})
    if not others:
        return ""
    light = [f"{name}:{_light(f'#{name[4:]}', of_text=name[2] == 't')}" for name in others]
    dark = [f"{name}:{_dark(f'#{name[4:]}', of_text=name[2] == 't')}" for name in others]
    return f":root{{{';'.join(light)}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{';'.join(dark)}}}}}\n"


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours written as ``#rrggbb``, between 1 and 21 (WCAG 2.2)."""
    dim, bright = sorted((_luminance(one), _luminance(other)))
    return (bright + 0.05) / (dim + 0.05)


def _light(colour: str, *, of_text: bool) -> str:
    """Return the colour itself; for text, dark enough to be read."""
    return _moved(colour, -_STEP, PAPER, LEAST_TEXT) if of_text else colour


def _dark(colour: str, *, of_text: bool) -> str:
    """Return the colour, light enough for dark mode; greys are as far from the background as they were from white."""
    hue, light, saturation = colorsys.rgb_to_hls(*_shares(colour))
    if saturation < 0.1:
        light = 1 - 0.9 * light
        return _moved(_hex(hue, light, saturation), _STEP, DARK_PAPER, LEAST_TEXT if of_text else 1.0)
    strength = 1 - min(_shares(colour))
    if not of_text and strength < _TINT:
        return _tint(colour, strength)
    return _moved(colour, _STEP, DARK_PAPER, LEAST_TEXT if of_text else LEAST_SHAPE)


def _tint(colour: str, strength: float) -> str:
    """Return a colour that was mixed with white, mixed with the dark background instead: light text is upon it."""
    mixed = zip(_shares(colour), _shares(DARK_PAPER), strict=True)
    parts = (strength - 1 + part + (1 - strength) * dark for part, dark in mixed)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def _moved(colour: str, step: float, ground: str, least: float) -> str:
    """Make a colour lighter or darker until its contrast to the background is sufficient."""
    hue, light, saturation = colorsys.rgb_to_hls(*_shares(colour))
    while contrast(colour, ground) < least and 0 < light < 1:
        light = min(1.0, max(0.0, light + step))
        colour = _hex(hue, light, saturation)
    return colour


def _hex(hue: float, light: float, saturation: float) -> str:
    return "#" + "".join(f"{round(255 * share):02x}" for share in colorsys.hls_to_rgb(hue, light, saturation))


def _shares(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def _luminance(colour: str) -> float:
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in _shares(colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
