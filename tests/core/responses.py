"""Responses of a server as some are and some are not, and which clients accept each of them.

What the RFCs permit a client to accept, and three of four clients do, is accepted by ours too; all else is refused. The
letters are those of the clients that read the response, from a connection that stays open: aiohttp 3.14.5, httpx
0.28.1, requests 2.34.2 and curl (pycurl 7.49.0).
"""

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
ABC = b"Content-Length: 3\r\n\r\nabc"
CHUNKS = b"3\r\nabc\r\n0\r\n\r\n"

LINES = {
    b"HTTP/1.1 200 OK\r": "--R-",
    b"HTTP/1.2 200 OK": "-HR-",
    b"HTTP/1.9 200 OK": "-HR-",
    b"HTTP/1.10 200 OK": "--R-",
    b"HTTP/2.0 200 OK": "AH-C",
    b"HTTP/2 200 OK": "----",
    b"HTTP/3.0 200 OK": "-H-C",
    b"HTTP/0.9 200 OK": "AHR-",
    b"HTTP/1 200 OK": "----",
    b"HTTP/1. 200 OK": "--R-",
    b"HTTP/01.1 200 OK": "----",
    b"http/1.1 200 OK": "---C",
    b"ICY 200 OK": "----",
    b"Http/1.1 200 OK": "---C",
    b"HTTP/1.1 200": "AHRC",
    b"HTTP/1.1 200 ": "AHRC",
    b"HTTP/1.1  200 OK": "--R-",
    b"HTTP/1.1\t200 OK": "--RC",
    b"HTTP/1.1 200\tOK": "--RC",
    b"HTTP/1.1 200  OK": "AHRC",
    b"HTTP/1.1 200 \xe9t\xe9": "AHRC",
    b"HTTP/1.1 200 \xc3\xa9t\xc3\xa9": "AHRC",
    b"HTTP/1.1 200 \x01": "AHRC",
    b"HTTP/1.1 200 \x00": "A-R-",
    b"HTTP/1.1 20 OK": "----",
    b"HTTP/1.1 2000 OK": "---C",
    b"HTTP/1.1 600 OK": "AHRC",
    b"HTTP/1.1 999 OK": "AHRC",
    b"HTTP/1.1 099 OK": "A---",
    b"HTTP/1.1 000 OK": "A---",
    b"HTTP/1.1 200OK": "---C",
    b"HTTP/1.1 OK": "----",
    b"HTTP/1.1 204 N": "-HRC",
    b"HTTP/1.1 304 N": "-HRC",
    b"HTTP/1.1 600": "AHRC",
}
"""The first line of a response whose body is abc."""

FIELDS = {
    b"X: a\rb": "----",
    b"X : y": "---C",
    b"X\t: y": "---C",
    b"X:": "AHRC",
    b"a b: c": "---C",
    b"\xe9: c": "---C",
    b"a(b): c": "--RC",
    b"a/b: c": "--RC",
    b"a@b: c": "--RC",
    b'"a": c': "--RC",
    b"[a]: c": "--RC",
    b"a_b: c": "AHRC",
    b": c": "--RC",
    b"nothing": "----",
    b"X: \xe9": "AHRC",
    b"X: \xc3\xa9\xe6\x97\xa5\xe6\x9c\xac": "AHRC",
    b"X: \x01": "AHRC",
    b"X: a\x00b": "--R-",
    b"X: \x7f": "AHRC",
    b"X: \x1b[0m": "AHRC",
    b"X: a\x0bb": "A-RC",
    b"X: a\x0cb": "A-RC",
    b"X: a\tb": "AHRC",
    b"X: a\r\n b": "AHRC",
    b"X: a\r\n\tb": "AHRC",
    b"X: a\n b": "AHRC",
    b"X: a\r\n ": "AHRC",
    b"Content-Length: 3": "-HRC",
    b"Content-Length: 4": "----",
    b"Content-Length: 03": "--RC",
    b"Transfer-Encoding: identity": "--R-",
    b"Transfer-Encoding:": "A-R-",
    b"Connection: foo, close": "AHRC",
    b"Connection: foo\r\nConnection: close": "AHRC",
    b"Proxy-Connection: close": "AHRC",
    b"Content-Type: text/plain": "AHRC",
}
"""Fields between a good one and the length."""

LENGTHS = {
    b"\r\n 3": "AHRC",
    b" 3, 3": "-H-C",
    b" 3,3": "-H-C",
    b" 3, 4": "----",
    b" 3,": "----",
    b" +3": "--R-",
    b" -1": "----",
    b" 0x3": "----",
    b"": "----",
    b" abc": "----",
    b" 003": "AHRC",
    b" 3 3": "----",
    b" 3.0": "----",
    b" 3;a": "----",
    b" 000000000000000000003": "A-RC",
    b" " + 5000 * b"0" + b"3": "A--C",
    b" " + 4000 * b"0" + b"3": "A-RC",
    b" " + 100 * b"0" + b"3": "A-RC",
    b" 3\t": "AHRC",
    b" 3\r\n ": "-HRC",
}
"""What follows after ``Content-Length:``."""

CODINGS = {
    b"\r\n chunked": "AHRC",
    b" CHUNKED": "AHRC",
    b" chunked, chunked": "A-RC",
    b" gzip, chunked": "A-R-",
    b" identity, chunked": "A-RC",
    b" chunked;a=b": "----",
    b" , chunked": "A-RC",
    b" chunked,": "--RC",
    b"\tchunked\t": "-HRC",
    b' "chunked"': "----",
    b" ,\tchunked": "A-RC",
    b" ,, chunked": "A-RC",
}
"""What follows after ``Transfer-Encoding:`` before a body in chunks."""

BODIES = {
    b"3\nabc\r\n0\r\n\r\n": "--RC",  # chunk size LF
    b"3\r\nabc\n0\r\n\r\n": "A--C",  # chunk data LF
    b"3\nabc\n0\n\n": "---C",  # chunk all LF
    b"3\r\nabc\r\n0\n\r\n": "--RC",  # last chunk LF
    b"3\r\nabc\r\n0\r\n\n": "AH-C",  # last empty LF
    b"3\r\nabc\r\n0\r\nA: b\n\r\n": "AHRC",  # trailer LF
    b"3\r\r\nabc\r\n0\r\n\r\n": "--RC",  # chunk size CRCRLF
    b"3;a=b\r\nabc\r\n0;c\r\n\r\n": "AHRC",  # chunk ext
    b'3;a="b;c"\r\nabc\r\n0\r\n\r\n': "AHRC",  # chunk ext quoted
    b'3;a="b\r\nc"\r\nabc\r\n0\r\n\r\n': "----",  # chunk ext quoted CRLF
    b"3 \r\nabc\r\n0 \r\n\r\n": "AHRC",  # chunk space
    b"3\t\r\nabc\r\n0\r\n\r\n": "AHRC",  # chunk tab
    b"3 ;a=b\r\nabc\r\n0\r\n\r\n": "A-RC",  # chunk space ext
    b"3; a = b\r\nabc\r\n0\r\n\r\n": "-HRC",  # chunk ext space
    b" " + CHUNKS: "--R-",  # chunk leading space
    b"0003\r\nabc\r\n000\r\n\r\n": "AHRC",  # chunk leading zeros
    b"0000000000000000" + CHUNKS: "AHRC",  # chunk 17 digits
    b"0x" + CHUNKS: "--R-",  # chunk 0x3
    b"+" + CHUNKS: "--R-",  # chunk +3
    b"-" + CHUNKS: "----",  # chunk -3
    b"0_" + CHUNKS: "--R-",  # chunk 0_3
    b"\r\nabc\r\n0\r\n\r\n": "----",  # chunk empty
    b"xyz\r\nabc\r\n0\r\n\r\n": "----",  # chunk xyz
    b"3\r\nabcd\r\n0\r\n\r\n": "----",  # chunk long
    b"3;\x01\r\nabc\r\n0\r\n\r\n": "-HRC",  # chunk ext control character
    b"3;a\nb\r\nabc\r\n0\r\n\r\n": "----",  # chunk ext LF
    b"3;a=\xe9\r\nabc\r\n0\r\n\r\n": "-HRC",  # chunk ext latin1
    b"3 x\r\nabc\r\n0\r\n\r\n": "---C",  # chunk 3 x
    b"3;\r\nabc\r\n0\r\n\r\n": "-HRC",  # chunk ext empty
    b"3\r\nabc\r\n0\r\nA: b\r\nC: d\r\n\r\n": "AHRC",  # trailers
    b"3\r\nabc\r\n0\r\nnothing\r\n\r\n": "--R-",  # trailer without colon
    b"3\r\nabc\r\n0\r\nA: b\r\n c\r\n\r\n": "AHR-",  # trailer fold
    b"3\r\nabc\r\n0\r\nA : b\r\n\r\n": "--RC",  # trailer space colon
    b"3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n": "-HRC",  # trailer length
    b"3\r\nabc\r\n0\r\nA: \x01\r\n\r\n": "AHRC",  # trailer control character
    100 * b"0" + CHUNKS: "A-R-",  # chunk 100 zeros
    1000 * b"0" + CHUNKS: "A-R-",  # chunk 1000 zeros
    b"3\r\nabc\r\n" + 5000 * b"0" + b"\r\n\r\n": "A-R-",  # last chunk 5000 zeros
    b"3;\x00\r\nabc\r\n0\r\n\r\n": "-HRC",  # chunk ext NUL
    b"3;a\rb\r\nabc\r\n0\r\n\r\n": "-HRC",  # chunk ext CR
    b"3\r\nabc\r\n0\r\n A: b\r\n\r\n": "--RC",  # trailer first fold
    b"3\r\nabc\r\n0\r\nA: \x00\r\n\r\n": "A-R-",  # trailer NUL
    17 * b"0" + CHUNKS: "AHR-",  # chunk size of 18 digits
    18 * b"0" + CHUNKS: "AHR-",  # chunk size of 19 digits
    19 * b"0" + CHUNKS: "AHR-",  # chunk size of 20 digits
    20 * b"0" + CHUNKS: "A-R-",  # chunk size of 21 digits
}
"""The body of a response in chunks."""

USAGE: dict[bytes, str] = {
    **{line + b"\r\n" + ABC: clients for line, clients in LINES.items()},
    **{HEAD + fields + b"\r\n" + ABC: clients for fields, clients in FIELDS.items()},
    **{HEAD + b"Content-Length:" + length + b"\r\n\r\nabc": clients for length, clients in LENGTHS.items()},
    **{HEAD + b"Transfer-Encoding:" + coding + b"\r\n\r\n" + CHUNKS: clients for coding, clients in CODINGS.items()},
    **{CHUNKED + body: clients for body, clients in BODIES.items()},
    b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc": "AHRC",  # LF, all
    b"HTTP/1.1 200 OK\n" + ABC: "AHRC",  # LF, status line
    b"HTTP/1.1 200 OK\r\nX: y\n" + ABC: "AHRC",  # LF, a field
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\nabc": "AHRC",  # LF, empty line only (CRLF LF)
    b"HTTP/1.1 200 OK\nContent-Length: 3\n\r\nabc": "AHRC",  # LF, fields, CRLF empty
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\n\r\nabc": "AHRC",  # LF, last field, CRLF empty
    b"HTTP/1.1 100 C\n\nHTTP/1.1 200 OK\nContent-Length: 3\n\nabc": "AHRC",  # LF, interim
    b"HTTP/1.1 200 OK\rContent-Length: 3\r\rabc": "----",  # bare CR as line end
    b"HTTP/1.1 200 OK\r\nX: y\r\r\n" + ABC: "----",  # CRCRLF line end
    b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n" + CHUNKS: "AHRC",  # LF, head, CRLF chunks
    b"\r\n" + HEAD + ABC: "A---",  # one CRLF first
    b"\r\n\r\n" + HEAD + ABC: "A---",  # two CRLF first
    b"\n" + HEAD + ABC: "A---",  # one LF first
    b"\r\n\r\n\r\n" + HEAD + ABC: "A---",  # three CRLF first
    b"\r" + HEAD + ABC: "A-R-",  # CR first
    b" " + HEAD + ABC: "--R-",  # space first
    b"HTTP/1.1 100 C\r\n\r\n\r\n" + HEAD + ABC: "A---",  # CRLF after 100
    HEAD + b"Content-Length : 3\r\n\r\nabc": "A---",  # space before colon of length
    HEAD + b"X:y\r\nContent-Length:3\r\n\r\nabc": "AHRC",  # no space behind colon
    b"HTTP/1.1 200 OK\r\nnothing\r\n" + ABC: "----",  # no colon first
    b"HTTP/1.1 200 OK\r\n X: a\r\n" + ABC: "A-RC",  # fold first
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html;\r\n charset=latin-1\r\n" + ABC: "AHRC",  # fold type
    b"HTTP/1.1 302 F\r\nLocation:\r\n /x\r\n" + ABC: "AHRC",  # fold location
    HEAD + b"Content-Length: 1_0\r\n\r\n0123456789": "--R-",  # length 3_0
    HEAD + b"Content-Length: \xb2\r\n\r\nab": "----",  # length unicode digit
    HEAD + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS: "-HRC",  # coding and length
    HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n" + CHUNKS: "-HRC",  # coding and length rev
    HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: x\r\n\r\n" + CHUNKS: "--R-",  # coding and bad length
    HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS: "A-RC",  # coding twice
    HEAD + b"Transfer-Encoding: gzip\r\n\r\nabc": "----",  # coding gzip
    b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS: "AHRC",  # coding in 1.0
    HEAD + b"Transfer-Encoding: xchunked\r\n\r\nabc": "----",  # coding xchunked
    b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + HEAD + ABC: "AH-C",  # 103 first
    b"HTTP/1.1 102 P\r\n\r\n" + HEAD + ABC: "AH-C",  # 102 first
    b"HTTP/1.1 199 P\r\n\r\n" + HEAD + ABC: "AH-C",  # 199 first
    b"HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n" + HEAD + ABC: "AHRC",  # 100 with length
    b"HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + HEAD + ABC: "A-R-",  # switched protocol
    b"HTTP/1.1 204 N\r\nContent-Length: 0\r\n\r\n": "AHRC",  # 204 with length 0
    b"HTTP/1.1 304 N\r\nContent-Length: 3\r\n\r\n": "AHRC",  # 304 with length
    b"HTTP/1.1 204 N\r\nTransfer-Encoding: chunked\r\n\r\n": "AH-C",  # 204 te
    b"HTTP/1.1 204 N\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": "-HRC",  # 204 te body
    b"HTTP/1.1 205 R\r\nContent-Length: 0\r\n\r\n": "AHRC",  # 205 no body
    b"HTTP/1.1 304 N\r\nContent-Length: x\r\n\r\n": "--RC",  # 304 length x
    b"HTTP/1.1 304 N\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n": "---C",  # 304 length 3,4
    b"HTTP/1.1 304 N\r\nTransfer-Encoding: gzip\r\n\r\n": "A-RC",  # 304 te gzip
    b"HTTP/1.1 204 N\r\nContent-Length: x\r\n\r\n": "--RC",  # 204 length x
    # coding and two lengths
    HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n" + CHUNKS: "--R-",
    HEAD + b"Content-Length: 1\r\n 0\r\n\r\n0123456789": "----",  # fold joins digits
    b"HTTP/1.1 103 E\nLink: </x>\n\n" + HEAD + ABC: "AH-C",  # interim lf
    b"HTTP/1.1 103 E\r\nnocolon\r\n\r\n" + HEAD + ABC: "----",  # interim malformed
    b"HTTP/1.1 100 C\r\nTransfer-Encoding: chunked\r\n\r\n" + HEAD + ABC: "AHRC",  # 100 with te
    b"HTTP/1.1 100 C\r\nContent-Length: x\r\n\r\n" + HEAD + ABC: "--RC",  # 100 bad length
    HEAD + b"Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS: "A-RC",  # coding empty first
    b"HTTP/1.1 204 N\n\n": "AHRC",  # LF only no fields
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
