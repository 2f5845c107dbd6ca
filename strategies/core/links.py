"""Links of a page: ``href`` values in a body, and their URLs.

The rules: values in quotes wherever they are in the body, and without quotes in a tag, as HTML allows; joined to the
page's URL, fragment removed, other schemes than that of the page ignored. A link that is not ASCII is read in the
encoding of its page if browsers know it, otherwise in UTF-8.
"""

import codecs
import ipaddress
import re
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

_COMMON_HREF = re.compile(
    rb"""=(?:(?<=href=)(?:(?<![\w-]href=)"([^"]*)"|(?=[^"]))|(?<=f\s=)|(?<=\s\s=))""", re.IGNORECASE
)
"""Links as nearly all are written. It begins with "=" because the engine finds one character many times faster than a
word in any case. What may be a link with white space, in single quotes or in none is found with an empty value."""
_HREF = re.compile(rb"""href(?<![\w-]href)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*))""", re.IGNORECASE)
_TAG_BEGUN = re.compile(
    rb"""<[a-z][^\s/>]*+(?:[\s/]*+[^\s/>=]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'>][^\s>]*+))?)*+(?:[\s/]++|(?<=["']))""",
    re.IGNORECASE,
)
"""The beginning of a tag, with whole attributes (https://html.spec.whatwg.org/multipage/syntax.html#start-tags)."""
MAX_MISSES = 16
"""Maximum number of places in a tag that are compared with the pattern, so that the time is linear in the page."""
PLAIN_PATH = re.compile(rb"/(?!/)[0-9A-Za-z/_~-]*(?:\.[0-9A-Za-z_~-]+)?")
"""An absolute path that is already normal, so that joining and normalising would not change it."""
_LABEL = "[0-9A-Za-z_%-]{1,63}"  # an empty or longer one makes getaddrinfo raise UnicodeError
_ZONE = r"[0-9A-Za-z_-]+(?:\.[0-9A-Za-z_-]+)*"
"""An interface, of 15 characters at most (IFNAMSIZ); getaddrinfo raises UnicodeError for empty or longer parts."""
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(?:%(?!.{{16}}){_ZONE})?")
_BRACKETED = re.compile(r"\[[^][]*:[^][]*\](?::[0-9]*)?")
"""An IPv6 address and perhaps a port. Versions of urllib differ in the other texts with brackets that they accept."""
DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_SCHEME_LENGTH = 100
_SCHEME = re.compile(r"[\0- ]*([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_SCHEMES = frozenset({"http", "https", "data", "file", "ftp", "javascript", "mailto", "sms", "tel", "urn", "ws", "wss"})
_PATH_SAFE = "/%:@!$&'()*+,;=~-._"
_PAGE_ENCODINGS = frozenset(
    {
        "ascii", "big5", "big5hkscs", "cp866", "cp874", "cp932", "cp949", "euc_jp", "euc_kr", "gb18030", "gb2312",
        "gbk", "iso2022_jp", "koi8-r", "koi8-u", "mac-cyrillic", "mac-roman", "shift_jis", "tis-620", "utf-8",
    }
    | {f"cp{number}" for number in range(1250, 1259)}
    | {f"iso8859-{part}" for part in range(1, 17) if part != 12}
)  # fmt: skip
"""Codecs of the encodings that browsers read pages in (https://encoding.spec.whatwg.org), but for UTF-16: ``href`` has
been found in ASCII. Python has others, such as "punycode" or "unicode_escape", which no page is written in and which
do not answer the same in all versions of Python."""
_NAMES = {"windows-31j": "cp932", "windows-874": "cp874", "windows-949": "cp949"}
"""Names of page encodings that not every version of Python knows."""


def find_links(data: bytes, begin: int = 0) -> list[bytes]:
    """Return the ``href`` values of a page as written, in order. The page is ``data`` from ``begin`` on."""
    found: list[bytes] = _COMMON_HREF.findall(data, begin)
    if not all(found):  # some may be written otherwise: the pattern for all ways is several times slower
        found = list(_find_odd_links(data, begin))
    return found


def _find_odd_links(data: bytes, begin: int) -> Iterator[bytes]:
    """Find links in all ways in which they may be written."""
    tag, misses, searched = begin, MAX_MISSES, begin
    for match in _HREF.finditer(data, begin):
        double, single, bare = match.groups()
        if bare is None:
            yield double or single or b""
            continue
        place = match.start()
        last = data.rfind(b"<", searched, place)
        while last >= 0 and not data[last + 1 : last + 2].isalpha():
            last = data.rfind(b"<", searched, last)
        searched = place
        if last >= 0:
            tag, misses = last, 0
        if misses == MAX_MISSES:
            continue
        if _TAG_BEGUN.fullmatch(data, tag, place):  # else it is in a text, a script or a value
            yield bare
            misses = MAX_MISSES  # a second one has no effect
        else:
            misses += 1


def resolve(base: str, href: bytes, encoding: str | None) -> str | None:
    """Return the normalised URL of ``href`` on page ``base``, or None if it is none, or of another scheme.

    ``encoding`` is that of the page, needed when the value is not ASCII.
    """
    text = href.decode(_codec(encoding), "replace")
    try:
        return join(base, unescape(text) if "&" in text else text)
    except ValueError:  # a character reference with more digits than int() accepts
        return None


def why_no_url(base: str, reference: str) -> str:
    """Return why ``join`` makes no URL of a reference: in a word, its scheme if that is well known."""
    match = _SCHEME.match(unescape(reference[:MAX_SCHEME_LENGTH]))
    scheme = match[1].lower() if match else ""
    if not scheme or base.startswith(f"{scheme}:"):
        return "invalid"
    return scheme if scheme in _SCHEMES else "other-scheme"


@lru_cache(maxsize=256)
def _codec(encoding: str | None) -> str:
    """Return the codec for a page in this encoding: that of a page encoding, or utf-8 for any other name."""
    label = (encoding or "utf-8").lower()
    try:
        name = codecs.lookup(_NAMES.get(label, label)).name
    except (LookupError, ValueError):  # no such codec, or a name with a null character
        return "utf-8"
    return name if name in _PAGE_ENCODINGS else "utf-8"


def join(base: str, reference: str) -> str | None:
    """Join a reference to the URL it was found at (RFC 3986, section 5); None if that is none, or of another scheme."""
    try:
        url = normalise(urljoin(base, reference.strip(" \t\r\n\f")))
    except ValueError:  # urllib's word for a host or port that is none
        return None
    scheme = base[: base.index("/")]
    return url if url is not None and url.startswith(scheme) else None


def normalise(url: str) -> str | None:
    """Return one spelling for all spellings of an http or https URL, without its fragment; None for any other scheme.

    Lower-case scheme and host, no default port, "/" for an empty path, and what may not stand in a request line is
    percent-encoded. User names in URLs are refused. Raises ValueError for a host or port that is none.
    """
    parts = urlsplit(url)
    default_port = DEFAULT_PORTS.get(parts.scheme)
    if default_port is None or not parts.hostname or "@" in parts.netloc:
        return None
    host = parts.hostname.encode("idna").decode("ascii") if not parts.hostname.isascii() else parts.hostname
    if not _HOST.fullmatch(host) or ("[" in parts.netloc and not _BRACKETED.fullmatch(parts.netloc)):
        return None
    netloc = f"[{host}]" if ":" in host else host
    if parts.port not in {None, default_port}:
        netloc = f"{netloc}:{parts.port}"
    path = quote(parts.path or "/", safe=_PATH_SAFE)
    return urlunsplit((parts.scheme, netloc, path, quote(parts.query, safe=_PATH_SAFE + "?"), ""))


class HostRule:
    """The hosts that a crawl may visit: those of its roots, strictly or leniently.

    Strict allows a leading ``www.`` more or less; lenient compares the last two labels; IP addresses must match
    exactly either way.
    """

    def __init__(self, roots: tuple[str, ...], *, strict: bool) -> None:
        self._reduce = _without_www if strict else _last_two_labels
        self._allowed = {self._reduce(host_of(root)) for root in roots}
        self._answers: dict[str, bool] = {}

    def allows(self, host: str) -> bool:
        """Return whether a URL with this host is followed."""
        answer = self._answers.get(host)
        if answer is None:
            answer = self._answers[host] = self._reduce(host) in self._allowed
        return answer


@lru_cache(maxsize=1024)
def host_of(url: str) -> str:
    """Return the host of a normalised URL."""
    host = urlsplit(url).hostname
    assert host is not None, url
    return host


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _without_www(host: str) -> str:
    reduced = host.removeprefix("www.")
    return host if _is_address(reduced) else reduced


def _last_two_labels(host: str) -> str:
    return host if _is_address(host) else ".".join(host.split(".")[-2:])
