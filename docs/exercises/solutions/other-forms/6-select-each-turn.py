import selectors
import socket
from collections import deque


class Future:
    def __init__(self):
        self.done = False
        self.result = None
        self.waiter = None

    def __await__(self):
        while not self.done:
            yield self
        return self.result

    def resolve(self, result=None):
        self.result, self.done = result, True
        waiter, self.waiter = self.waiter, None
        if waiter:
            waiter.loop.ready.append(waiter)


class Task:
    def __init__(self, loop, coroutine):
        self.loop, self.coroutine = loop, coroutine
        self.done, self.result = False, None
        loop.left += 1
        loop.ready.append(self)

    def step(self):
        try:
            self.coroutine.send(None).waiter = self
        except StopIteration as stop:
            self.done, self.result = True, stop.value
            self.loop.left -= 1


class Loop:
    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.ready = deque()
        self.left = 0

    def event(self, sock, kind):
        future = Future()

        def come():
            self.selector.unregister(sock)
            future.resolve(sock)

        self.selector.register(sock, kind, come)
        return future

    def run(self, *coroutines):
        tasks = [Task(self, one) for one in coroutines]
        while self.left:
            for key, _ in self.selector.select(0 if self.ready else None):
                key.data()
            for _ in range(len(self.ready)):
                self.ready.popleft().step()
        return [task.result for task in tasks]


async def fetch(loop, port, page):
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
