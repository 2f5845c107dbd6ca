"""A process under gevent ends with its standard input: whoever started it holds the other end."""

import os

import gevent
from gevent.os import tp_read


def end_with_input() -> None:
    """End this process at once when its standard input ends; what it has started watches its own input likewise."""
    gevent.spawn(_wait)


def _wait() -> None:
    while tp_read(0, 4096):
        pass
    os._exit(0)
