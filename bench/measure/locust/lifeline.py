"""A process under gevent ends with its standard input: whoever started it holds the other end."""

import os
from collections.abc import Callable

import gevent
from gevent.os import tp_read

LEAVE_S = 0.2


def end_with_input(take_leave: Callable[[], None]) -> None:
    """End this process when its standard input ends, with a last word; what it has started ends likewise."""
    gevent.spawn(_wait, take_leave)


def _wait(take_leave: Callable[[], None]) -> None:
    while tp_read(0, 4096):
        pass
    take_leave()
    gevent.sleep(LEAVE_S)
    os._exit(0)
