"""Serve the same pages with plain aiohttp.web, to compare the synthetic server with.

As somebody who knows aiohttp writes it: one handler, bodies rendered once and kept, no access log, and the
event loop that web.run_app takes by default, asyncio's own. It has no faults, no gate and no counters, but
it has the added latency.

    python -m tools.aiohttp_baseline --port 0 --pages 1000
"""

import argparse
import asyncio
import socket
import sys
from functools import cache

from aiohttp import web

from inflight.fake_server.__main__ import ready_line
from inflight.fake_server.options import SITE_OPTIONS, add_options, site_config
from inflight.fake_server.site import Site


def application(site: Site) -> web.Application:
    """Return an application that answers every path as the site says."""
    render = cache(site.render)

    async def handle(request: web.Request) -> web.Response:
        n = site.number(request.path)
        if n is None:
            raise web.HTTPNotFound
        page, body = render(n)
        if page.delay_ns:
            await asyncio.sleep(page.delay_ns / 1e9)
        headers = {"Content-Type": page.content_type}
        if page.location is not None:
            headers["Location"] = page.location
        return web.Response(status=page.status, body=body, headers=headers)

    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    return app


def main(argv: list[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM; return the exit code."""
    parser = argparse.ArgumentParser(prog="aiohttp_baseline", description="Serve a site with aiohttp.web.")
    parser.add_argument("--port", type=int, default=8080, help="0 takes any free one; default: 8080")
    add_options(parser, SITE_OPTIONS)
    options = parser.parse_args(argv)
    try:
        site = Site(site_config(vars(options)))
    except ValueError as error:
        parser.error(str(error))
    sock = socket.create_server(("127.0.0.1", options.port))
    line = ready_line([sock.getsockname()[1]], control_port=None)
    web.run_app(application(site), sock=sock, access_log=None, print=lambda _: print(line, flush=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
