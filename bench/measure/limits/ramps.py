"""The ramps: each takes one resource, piece by piece, and says after each how much it has; RefusedError ends it.

What was taken is put into ``held``, which outlives the ramp. ``symptoms`` tells limits apart where a thread has just
been refused: a page, a stack, a process more.
"""

import errno
import itertools
import mmap
import os
import resource
import select
import socket
import sys
import threading
from _thread import start_new_thread
from collections.abc import Callable, Iterator
from typing import Any

MIB = 1 << 20
PAGES_TO_TRY = 16
FIRST_LINE_S = 5.0
CONNECT_BATCH = 256
SILENCE_S = 0.3
"""How long no connection of a batch may complete before the queue counts as full: loopback answers within a call."""

Order = dict[str, Any]
Ramp = Callable[[Order, list[Any]], Iterator[int]]


class RefusedError(Exception):
    """The system gave no more; the message says in whose words."""


def threads(order: Order, held: list[Any]) -> Iterator[int]:
    """Start threads that wait for a lock, each when the one before it runs, as threading.Thread does.

    (Started all at once they take fewer maps: their first frames then lie side by side, see ``growth``.) Not by
    threading.Thread itself: its start() waits for ever for a thread that is created and then has no memory for its
    first frame, which happens at this very limit.
    """
    threading.stack_size(order.get("stack_bytes", 0))
    gate, arrived = threading.Lock(), threading.Lock()
    gate.acquire()
    arrived.acquire()
    held.append(gate)

    def wait() -> None:
        arrived.release()
        gate.acquire()

    for count in itertools.count(1):
        try:
            start_new_thread(wait, ())
        except (RuntimeError, MemoryError) as error:
            raise RefusedError(count - 1, f"{type(error).__name__}: {error}", None) from None
        if not arrived.acquire(timeout=FIRST_LINE_S):
            raise RefusedError(count - 1, "a thread was created and had no memory for its first frame", None)
        yield count


def descriptors(_order: Order, held: list[Any]) -> Iterator[int]:
    """Open files, each an entry of the system's table too: ``dup`` would only take the descriptor."""
    while True:
        try:
            held.append(os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            raise refused(len(held), error) from None
        yield len(held)


def ports(order: Order, held: list[Any]) -> Iterator[int]:
    """Bind sockets to all ports of a range that are free at one local address, then to ports that the kernel chooses.

    Left to choose them all, the kernel would look through every odd port of the range before it takes an even one
    (net/ipv4/inet_connection_sock.c, inet_csk_find_open_port), which takes minutes; that it finds none is asked once.
    """
    wanted = itertools.chain(range(order["first"], order["last"] + 1), itertools.repeat(0))
    for port in wanted:
        try:
            bound = socket.socket()
        except OSError as error:
            raise refused(len(held), error) from None
        try:
            bound.bind((order["address"], port))
        except OSError as error:
            bound.close()
            if port and error.errno in {errno.EADDRINUSE, errno.EACCES}:  # somebody's, or reserved for root
                continue
            raise refused(len(held), error) from None
        held.append(bound)
        yield len(held)


def listener(order: Order, _held: list[Any]) -> Iterator[int]:
    """Listen and never accept; what is counted is the port."""
    with socket.socket() as listening:
        listening.bind((order["address"], 0))
        listening.listen(order["backlog"])
        yield listening.getsockname()[1]
        threading.Event().wait()


def connections(order: Order, held: list[Any]) -> Iterator[int]:
    """Connect to a listener that never accepts, a batch at a time, until no more connections complete."""
    waiting = select.poll()
    count = 0
    while True:
        error = more_connecting(order, held, waiting)
        while count < len(held) and (ready := waiting.poll(SILENCE_S * 1000)):
            for descriptor, events in ready:
                if events != select.POLLOUT:
                    raise RefusedError(count, "a connection was refused or broken", None)
                waiting.unregister(descriptor)
                count += 1
        if count < len(held):
            raise RefusedError(count, "no more connections complete: the accept queue is full", None)
        if error is not None:
            raise refused(count, error)
        yield count


def more_connecting(order: Order, held: list[Any], waiting: select.poll) -> OSError | None:
    """Begin a batch of connections; return what forbids it, if anything does."""
    for _ in range(CONNECT_BATCH):
        try:
            client = socket.socket()
        except OSError as error:
            return error
        try:
            client.setblocking(False)
            client.bind((order["source"], 0))
            client.connect((order["address"], order["port"]))
        except BlockingIOError:
            pass
        except OSError as error:
            client.close()
            return error
        held.append(client)
        waiting.register(client, select.POLLOUT)
    return None


def memory(_order: Order, held: list[Any]) -> Iterator[int]:
    """Reserve memory, a MiB at a time, and touch none of it: limits on addresses and data count what is reserved."""
    count = 0
    while True:
        try:
            held.append(bytearray(MIB))
        except MemoryError:
            raise RefusedError(count, "MemoryError", "ENOMEM") from None
        count += MIB
        yield count


RAMPS: dict[str, Ramp] = {
    "threads": threads,
    "descriptors": descriptors,
    "ports": ports,
    "listener": listener,
    "connections": connections,
    "memory": memory,
}


def refused(count: int, error: OSError) -> RefusedError:
    """Keep what the system said."""
    return RefusedError(count, f"{type(error).__name__}: {error.strerror}", errno.errorcode.get(error.errno or 0))


def symptoms(order: Order) -> dict[str, str]:
    """Try what needs a map more, a stack more and a process more; return ``ok`` or the name of the errno of each."""
    if order["resource"] != "threads":
        return {}
    return {"page": answer(pages), "stack": answer(lambda: stack(order)), "process": answer(process)}


def answer(attempt: Callable[[], None]) -> str:
    """Return how a call ended."""
    try:
        attempt()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "error")
    except MemoryError:
        return "ENOMEM"
    return "ok"


def pages() -> None:
    """Map single pages, shared, as such are never merged: a few, since one may still have fitted."""
    held = [mmap.mmap(-1, mmap.PAGESIZE) for _ in range(PAGES_TO_TRY)]
    for page in held:
        page.close()


def stack(order: Order) -> None:
    """Map as much private memory as the stack of a thread has."""
    size = order.get("stack_bytes") or resource.getrlimit(resource.RLIMIT_STACK)[0]
    if size > 0:
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()


def process() -> None:
    """Start a process that does nothing."""
    program = next((path for path in ("/bin/true", "/usr/bin/true") if os.path.exists(path)), sys.executable)  # noqa: PTH110
    quiet = ["-S", "-c", "pass"] if program == sys.executable else []
    os.waitpid(os.posix_spawn(program, [program, *quiet], {}), 0)
