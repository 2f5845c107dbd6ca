"""Responses of a server as some are and some are not, and which clients accept each of them.

What the RFCs permit a client to accept, and three of four clients do, is accepted by ours too; all else is refused. The
letters are those of the clients that read the response, from a connection that stays open: aiohttp 3.14.5, httpx
0.28.1, requests 2.34.2 and curl (pycurl 7.49.0).
"""

import re
import tomllib
from pathlib import Path

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
ABC = b"Content-Length: 3\r\n\r\nabc"
CHUNKS = b"3\r\nabc\r\n0\r\n\r\n"

PIECES = {"{HEAD}": HEAD, "{CHUNKED}": CHUNKED, "{ABC}": ABC, "{CHUNKS}": CHUNKS}
AROUND = {
    "lines": "{}\r\n{ABC}",
    "fields": "{HEAD}{}\r\n{ABC}",
    "lengths": "{HEAD}Content-Length:{}\r\n\r\nabc",
    "codings": "{HEAD}Transfer-Encoding:{}\r\n\r\n{CHUNKS}",
    "bodies": "{CHUNKED}{}",
    "whole": "{}",
}
"""What is around the texts of each table of responses.toml."""


def encode(text: str) -> bytes:
    """Return a response: the names of pieces stand for them, and {0*9} for nine zeros."""
    data = re.sub(r"\{0\*(\d+)\}", lambda found: "0" * int(found[1]), text).encode("latin-1")
    for name, piece in PIECES.items():
        data = data.replace(name.encode(), piece)
    return data


USAGE: dict[bytes, str] = {
    encode(AROUND[table].replace("{}", text)): clients
    for table, texts in tomllib.loads(Path(__file__).with_name("responses.toml").read_text("utf-8")).items()
    for text, clients in texts.items()
}

NOT_PERMITTED = {
    b"HTTP/2.0 200 OK\r\n" + ABC: "another major version is another protocol (RFC 9110, section 2.5)",
    b"HTTP/0.9 200 OK\r\n" + ABC: "another major version is another protocol (RFC 9110, section 2.5)",
    HEAD
    + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
    + CHUNKS: "the body would have to be decoded twice (RFC 9112, section 6.1)",
    HEAD
    + b"Transfer-Encoding: chunked, chunked\r\n\r\n"
    + CHUNKS: "the body would have to be decoded twice (RFC 9112, section 6.1)",
    HEAD + b"Transfer-Encoding: identity, chunked\r\n\r\n" + CHUNKS: "the coding is unknown (RFC 9112, section 7)",
}
"""What three clients accept although they may not, with the reason."""


def is_usual(response: bytes) -> bool:
    """Return whether the RFCs permit it and three of four clients accept it."""
    return response not in NOT_PERMITTED and USAGE[response].count("-") < 2
