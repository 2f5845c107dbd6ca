"""Fetch three pages at once, with an event loop of our own and `yield from`."""

import selectors
import socket
import time
from collections.abc import Generator, Iterator

from local_site import local_site


class Future:
    """Something that has not happened yet. The coroutine that waits for it is its waiter."""

    waiter: Generator

    def __iter__(self) -> Iterator["Future"]:
        yield self


class Loop:
    """Run each coroutine to its next wait; then wait for all of them at once."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()

    def step(self, coroutine: Generator) -> None:
        try:
            future = coroutine.send(None)
        except StopIteration:
            return
        future.waiter = coroutine

    def run(self, *coroutines: Generator) -> None:
        for coroutine in coroutines:
            self.step(coroutine)
        while self.selector.get_map():
            for key, _ in self.selector.select():
                self.step(key.data.waiter)

    def ready(self, sock: socket.socket, event: int) -> Generator:
        future = Future()
        self.selector.register(sock, event, future)
        yield from future
        self.selector.unregister(sock)


def fetch(loop: Loop, port: int, page: str) -> Generator:
    with socket.socket() as sock:
        sock.setblocking(False)
        sock.connect_ex(("127.0.0.1", port))
        yield from loop.ready(sock, selectors.EVENT_WRITE)
        print(f"{page}: send the request")
        sock.send(f"GET {page} HTTP/1.0\r\nHost: here\r\n\r\n".encode())
        answer = yield from read_all(loop, sock)
        print(f"{page}: {len(answer)} bytes")


def read_all(loop: Loop, sock: socket.socket) -> Generator:
    answer = b""
    while True:
        yield from loop.ready(sock, selectors.EVENT_READ)
        data = sock.recv(4096)
        if not data:
            return answer
        answer += data


def main() -> None:
    with local_site(pages=4, latency="100ms") as port:
        loop = Loop()
        start = time.perf_counter()
        loop.run(*(fetch(loop, port, f"/p/{number}") for number in (1, 2, 3)))
        print(f"three pages in {(time.perf_counter() - start) * 1000:.0f} ms")


if __name__ == "__main__":
    main()
