"""Exercise 6: an event loop. Without `fetch`, it has about forty lines."""

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
        if not self.done:
            yield self
        return self.result

    def resolve(self, result=None):
        self.done = True
        self.result = result
        if self.waiter is not None:
            self.waiter.loop.ready.append(self.waiter)


class Task:
    """A coroutine that the loop runs, from one wait to the next."""

    def __init__(self, loop, coroutine):
        self.loop = loop
        self.coroutine = coroutine
        self.done = False
        self.result = None
        loop.ready.append(self)

    def step(self):
        try:
            future = self.coroutine.send(None)
        except StopIteration as end:
            self.done = True
            self.result = end.value
        else:
            future.waiter = self


class Loop:
    """Steps the tasks that are ready, and waits for sockets when none is."""

    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.ready = deque()

    def event(self, sock, kind):
        future = Future()
        self.selector.register(sock, kind, future)
        return future

    def run(self, *coroutines):
        tasks = [Task(self, coroutine) for coroutine in coroutines]
        while not all(task.done for task in tasks):
            while self.ready:
                self.ready.popleft().step()
            if self.selector.get_map():
                for key, _ in self.selector.select():
                    self.selector.unregister(key.fileobj)
                    key.data.resolve()
        return [task.result for task in tasks]


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
