"""``inflight serve``: serve the synthetic site in this process, until Ctrl-C, for people and other clients.

Its options are those of the server (``fake_server.options``). Trials do not use it: they start a server of their own
(``measure.server``).
"""

from collections.abc import Callable
from typing import Any

import click

from inflight.bench.commands.options import QUIET
from inflight.bench.plan.judge import ExperimentError
from inflight.fake_server.options import OPTIONS, settings


def server_options(run: Callable[..., int]) -> Callable[..., int]:
    """Add the options of the server to a function."""
    for declared in reversed(OPTIONS):
        run = click.option(
            declared.flag,
            type=declared.kind,
            is_flag=declared.kind is bool,
            multiple=declared.repeated,
            default=declared.default,
            metavar=declared.metavar,
            help=declared.help,
            hidden=declared.is_internal,
        )(run)
    return run


@server_options
@QUIET
def run(**options: Any) -> int:
    """Serve the synthetic site until Ctrl-C.

    \b
    inflight serve --latency 50ms
    inflight serve --latency "lognormal 50ms 400ms" --port 0
    inflight serve --pages 20 --fault reset-mid=0.1
    """
    from inflight.fake_server.__main__ import ServeError
    from inflight.fake_server.__main__ import serve as serve_site

    try:
        serve_site(settings(options))
    except (ServeError, ValueError) as error:
        raise ExperimentError(str(error)) from error
    return 0
