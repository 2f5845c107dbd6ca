"""A client that ignores its answers: it measures how many requests per second the server can answer.

``python -m inflight.bench.measure.worker.null_client PORT`` keeps CONNECTIONS connections busy with requests,
counts bytes instead of parsing them, and prints ``{"per_s": ...}``. It uses nothing but the standard library.
"""

import json
import selectors
import socket
import sys
import time

CONNECTIONS = 100
SECONDS = 0.5
REQUEST = b"GET / HTTP/1.1\r\nHost: null\r\n\r\n"


def main() -> None:
    """Drive the server at the port that the command line names."""
    try:
        print(json.dumps({"per_s": drive(int(sys.argv[1]))}))
    except OSError as error:
        sys.exit(f"the server was gone: {error}")


def drive(port: int) -> float:
    """Return the responses per second over SECONDS. Raises OSError when the server cannot be reached or hangs up."""
    length = response_length(port)
    selector = selectors.DefaultSelector()
    socks = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
    try:
        missing = dict.fromkeys(socks, length)
        for sock in socks:
            selector.register(sock, selectors.EVENT_READ, sock)
            sock.sendall(REQUEST)
        answered, begin_s = 0, time.perf_counter()
        while (elapsed_s := time.perf_counter() - begin_s) < SECONDS:
            for key, _ in selector.select(1):
                sock = key.data
                data = sock.recv(65536)
                if not data:
                    raise ConnectionResetError("the server hung up")
                missing[sock] -= len(data)
                if missing[sock] <= 0:
                    missing[sock] = length
                    answered += 1
                    sock.sendall(REQUEST)
        return answered / elapsed_s
    finally:
        selector.close()
        for sock in socks:
            sock.close()


def response_length(port: int) -> int:
    """Return the size of one response: all bytes until the server closes, minus the header field for that."""
    closing = b"Connection: close\r\n"
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(REQUEST.removesuffix(b"\r\n") + closing + b"\r\n")
        response = b"".join(iter(lambda: sock.recv(65536), b""))
    return len(response.replace(closing, b"", 1))


if __name__ == "__main__":
    main()
