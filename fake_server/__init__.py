"""The synthetic site: the same seed gives the same pages, the same delays and the same faults.

Pure, with the standard library only (the expected answer of a crawl comes from here):

    draws.py      repeatable random draws by (seed, stream, page number)
    delays.py     the added latency of a page: parse_delay("lognormal 50ms 400ms") -> Delay
    faults.py     faults of answers, and whether a client survives them
    config.py     SiteConfig: the parameters of a site, and their validation
    graph.py      kinds and links of pages by number
    site.py       Site: page(n) -> PageSpec, body(n) -> bytes
    responses.py  a page as bytes for the wire: Answer

The rim (uvloop, httptools, sockets, clocks):

    timers.py     one alarm for all delays, finer than the event loop's own
    counters.py   counters of requests and responses, and the lateness of timers
    connection.py one client connection: reads requests, answers them in order
    server.py     Server: site, cache, gate, listening sockets
    control.py    JSON lines for the runner, on a port of its own
    options.py    the options of the command line: one table, for argparse here and for the harness
    __main__.py   the command line
"""
