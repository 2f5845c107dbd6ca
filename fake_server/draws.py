"""Draw repeatable random numbers: a draw depends on the seed, its purpose and the page number only."""

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


def mix64(value: int) -> int:
    """Spread the bits of an integer over 64 bits (the finaliser of SplitMix64, Steele and others 2014)."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def stream(seed: int, purpose: str) -> int:
    """Return the start of an independent sequence of draws, one for each purpose."""
    return mix64(mix64(seed + _STEP & _MASK) ^ int.from_bytes(purpose.encode()[:8]))


def integer(start: int, n: int) -> int:
    """Return the n-th draw of a stream, uniform in [0, 2**64)."""
    return mix64(start + (n + 1) * _STEP & _MASK)


def unit(start: int, n: int) -> float:
    """Return the n-th draw of a stream, uniform in (0, 1): neither end is ever drawn."""
    return ((integer(start, n) >> 12) + 0.5) * 2.0**-52
