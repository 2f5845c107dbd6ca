"""Ports for programs that are told on which one to listen."""

import random
import socket

RANGE = range(20_000, 30_000)
"""Below the ports that the kernel gives to other sockets, so a free one is still free when a program binds it."""


def free_port() -> int:
    """Return a port on which nobody listens."""
    for port in random.sample(RANGE, len(RANGE)):
        try:
            socket.create_server(("", port)).close()
        except OSError:  # it is in use
            continue
        return port
    raise OSError("all ports are in use")
