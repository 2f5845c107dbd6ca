"""Free ports, for programs that take the number of a port."""

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
