"""Whether a stream can show colour and redraw a line."""

import os
from typing import TextIO

RED, GREEN, DIM, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[2m", "\x1b[0m"


def wants_colour(file: TextIO) -> bool:
    """Tell whether to colour text for this stream (https://no-color.org)."""
    return file.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def wants_live(file: TextIO) -> bool:
    """Tell whether a line of this stream can be redrawn: it is a terminal of a known type."""
    return file.isatty() and os.environ.get("TERM", "") not in {"", "dumb", "unknown"}
