"""Exercise 6: an event loop. You write what raises NotImplementedError; `fetch` is finished."""

import selectors
import socket
from collections import deque


class Future:
    """Something that has not happened yet. `await future` waits until it has, and gives its result."""

    def __init__(self):
        self.done = False
        self.result = None
        self.waiter = None  # the task that waits for it

    def __await__(self):
        """Yield this future if it is not done yet: `send` in the task's `step` returns it. Then return the result."""
        raise NotImplementedError

    def resolve(self, result=None):
        """Store the result, and put the task that waits, if there is one, into the `ready` queue of its loop."""
        raise NotImplementedError


class Task:
    """A coroutine that the loop runs, from one wait to the next."""

    def __init__(self, loop, coroutine):
        self.loop = loop
        self.coroutine = coroutine
        self.done = False
        self.result = None
        loop.ready.append(self)

    def step(self):
        """Run the coroutine to its next wait, and become the waiter of that future. At its end, store the result."""
        raise NotImplementedError


class Loop:
    """Steps the tasks that are ready, and waits for sockets when none is."""

    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.ready = deque()

    def event(self, sock, kind):
        """Return a future that is resolved when a socket is ready for EVENT_READ or EVENT_WRITE."""
        raise NotImplementedError

    def run(self, *coroutines):
        """Run coroutines together until all have ended. Return their results in a list, in the same order."""
        raise NotImplementedError


async def fetch(loop, port, page):
    """Return the answer of the local site for a page, as bytes."""
    with socket.socket() as sock:
        sock.setblocking(False)
        sock.connect_ex(("127.0.0.1", port))
        await loop.event(sock, selectors.EVENT_WRITE)
        sock.send(f"GET {page} HTTP/1.0\r\nHost: here\r\n\r\n".encode())
        parts = []
        while True:
            await loop.event(sock, selectors.EVENT_READ)
            part = sock.recv(4096)
            if not part:
                return b"".join(parts)
            parts.append(part)
