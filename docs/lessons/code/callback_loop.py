"""Fetch two pages at once in one thread, with callbacks."""

import selectors
import socket
from contextlib import suppress

from local_site import local_site

selector = selectors.DefaultSelector()


class Fetch:
    """One page in flight. What the next callback needs is stored here."""

    def __init__(self, port: int, page: str) -> None:
        self.page = page
        self.answer = b""
        self.sock = socket.socket()
        self.sock.setblocking(False)
        with suppress(BlockingIOError):
            self.sock.connect(("127.0.0.1", port))
        selector.register(self.sock, selectors.EVENT_WRITE, self.on_connected)
        print(f"{page}: started")

    def on_connected(self) -> None:
        """Send the request."""
        self.sock.send(f"GET {self.page} HTTP/1.0\r\nHost: here\r\n\r\n".encode())
        selector.modify(self.sock, selectors.EVENT_READ, self.on_readable)
        print(f"{self.page}: request sent")

    def on_readable(self) -> None:
        """Read the data that has arrived; empty data is the end of the answer."""
        data = self.sock.recv(4096)
        if data:
            self.answer += data
            return
        selector.unregister(self.sock)
        self.sock.close()
        print(f"{self.page}: done, {len(self.answer)} bytes")


def run() -> None:
    """Run the event loop: call the callback of each socket that is ready."""
    while selector.get_map():
        print("loop: wait")
        for key, _ in selector.select():
            key.data()


def main() -> None:
    """Start two fetches, then run the loop."""
    with local_site(pages=3, latency="50ms") as port:
        Fetch(port, "/p/1")
        Fetch(port, "/p/2")
        run()


if __name__ == "__main__":
    main()
