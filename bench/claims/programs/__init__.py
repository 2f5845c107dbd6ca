"""The programs of claims: each measures one claim in a process of its own. Their trials are called probes.

To add a program, add a file. It is found by its name, unless the name begins with ``_``. It imports the standard
library and strategies; at its top only the former, so that its constants can be read anywhere::

    ARGUMENTS: dict[str, tuple[Any, ...]]    the usual values; their product is run. The first value is the default
    SITE: dict[str, Any] | None              the site that a fake server serves at ``base``; None: no server
    def measure(base: str, **arguments: Any) -> dict[str, Any]

``measure`` gets all arguments, which the plan has checked. It returns plain JSON values, integers in ``_ns`` and
``_bytes``, to which the arguments are added. An experiment that was stopped is a result too: ``stopped_by`` names
the limit, and ``error`` quotes it. For a meaningless combination of arguments, ``not_applicable`` says why.

The worker runs ``measure`` (``inflight.bench.measure.worker.program``). The kernel ends it after its lifetime::

    python -P -m inflight.bench.measure.worker.program inflight.bench.claims.programs.NAME
        standard input     one line   {"arguments": {...}, "base": "http://127.0.0.1:PORT" | null, "lifetime_s": 30}
        standard output    one line   {"measured": {...}}
"""
