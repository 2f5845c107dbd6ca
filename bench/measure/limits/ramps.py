"""The ramps: each takes one resource piece by piece and yields the count after each piece; RefusedError ends it.

The pieces are put into ``held``, which outlives the ramp. After a refused thread, ``symptoms`` tries one more page,
stack and process, to tell limits apart.
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
"""Time without a completed connection after which the queue counts as full: loopback answers within a call."""

Order = dict[str, Any]
Ramp = Callable[[Order, list[Any]], Iterator[int]]


class RefusedError(Exception):
    """The system refused one more piece: (count, error, name of the errno or None)."""


def threads(order: Order, held: list[Any]) -> Iterator[int]:
    """Start threads that wait for a lock, each when the one before it runs, as threading.Thread does.

    Started all at once, they would take fewer maps, because their first frames would be adjacent (see ``growth``).
    threading.Thread itself is not used: its start() never returns when a thread is created without memory for its first
    frame, which happens at this limit.
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
    """Open files. Each also takes an entry of the system's file table, which ``dup`` would not."""
    while True:
        try:
            held.append(os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            raise refused(len(held), error) from None
        yield len(held)


def ports(order: Order, held: list[Any]) -> Iterator[int]:
    """Bind sockets to all free ports of a range at one local address, then to ports that the kernel chooses.

    If the kernel chose all of them, it would search every odd port of the range before it takes an even one
    (net/ipv4/inet_connection_sock.c, inet_csk_find_open_port), which takes minutes. So it only confirms the end.
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
            if port and error.errno in {errno.EADDRINUSE, errno.EACCES}:  # in use, or reserved for root
                continue
            raise refused(len(held), error) from None
        held.append(bound)
        yield len(held)


def listener(order: Order, _held: list[Any]) -> Iterator[int]:
    """Listen and never accept; yield the port instead of a count."""
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
    """Start a batch of connections; return the error that prevents it, if any."""
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
    """Reserve memory in steps of 1 MiB without touching it: limits on address space and data count reservations."""
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
    """Return the refusal for an error."""
    return RefusedError(count, f"{type(error).__name__}: {error.strerror}", errno.errorcode.get(error.errno or 0))


def symptoms(order: Order) -> dict[str, str]:
    """Try one more page, stack and process; return ``ok`` or the name of the errno for each."""
    if order["resource"] != "threads":
        return {}
    return {"page": answer(pages), "stack": answer(lambda: stack(order)), "process": answer(process)}


def answer(attempt: Callable[[], None]) -> str:
    """Return ``ok``, or the name of the errno with which a call failed."""
    try:
        attempt()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "error")
    except MemoryError:
        return "ENOMEM"
    return "ok"


def pages() -> None:
    """Map a few single pages, because one may still fit. Shared mappings are never merged."""
    held = [mmap.mmap(-1, mmap.PAGESIZE) for _ in range(PAGES_TO_TRY)]
    for page in held:
        page.close()


def stack(order: Order) -> None:
    """Map private memory of the size of a thread's stack."""
    size = order.get("stack_bytes") or resource.getrlimit(resource.RLIMIT_STACK)[0]
    if size > 0:
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()


def process() -> None:
    """Start a process that does nothing."""
    program = next((path for path in ("/bin/true", "/usr/bin/true") if os.path.exists(path)), sys.executable)  # noqa: PTH110
    quiet = ["-S", "-c", "pass"] if program == sys.executable else []
    os.waitpid(os.posix_spawn(program, [program, *quiet], {}), 0)
