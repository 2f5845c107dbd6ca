"""Probes: small programs, each of which shows one claim in figures, in a process of its own.

To add a probe, add a file; it is found by its name (one that begins with ``_`` is no probe)::

    python -P -m inflight.bench.studies.probes.programs NAME
        standard input     one line   {"arguments": {...}, "base": "http://127.0.0.1:PORT" | null, "lifetime_s": 30}
        standard output    one line   {"measured": {...}}
        exit code          0; 2 when the probe or its arguments are none, with one sentence on standard error

``lifetime_s`` may be left out: after so long the kernel ends the process, should nobody else have done so. A probe is a
module that imports nothing but the standard library at its top, so that its constants can be read anywhere::

    ARGUMENTS: dict[str, tuple[Any, ...]]    what is normally run: the cross product. The first value is the default
    BOUNDS: dict[str, tuple[int, int]]       of arguments that are whole numbers: the least and the greatest
    SITE: dict[str, Any] | None              the site that a fake server serves at ``base`` meanwhile; None: no server
    def measure(base: str, **arguments: Any) -> dict[str, Any]

``measure`` gets arguments that have been checked (``_shared.checked``), all of them, and returns plain JSON values,
integers in ``_ns`` and ``_bytes``; the arguments are added to them. What stopped an experiment on its way is a
result as well: ``stopped_by`` names the limit, ``error`` quotes it. So is a combination of arguments that means
nothing: ``not_applicable`` says why.
"""
