"""What plain Locust takes: ``locust -f bench/measure/locust/locustfile.py``, with its web page, workers and options.

Two kinds of Locust users: PageUser browses a site (``inflight serve`` has one), and StrategyUser has a process of ours
hold its share of ``--in-flight`` fetches with ``--strategy``. Name one of them on the command line for one alone::

    locust -f bench/measure/locust/locustfile.py PageUser --headless -u 20 -t 30s --host http://127.0.0.1:8080

The options of ours can be set on Locust's web page too.
"""

import logging
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from locust import events

ROOT = Path(__file__).resolve().parents[3]
if (ROOT / "inflight").is_dir() and str(ROOT) not in sys.path:  # a checkout: Locust may be started in any folder
    sys.path.insert(0, str(ROOT))

from inflight import strategies  # noqa: E402  (found by the line above)
from inflight.bench.core.scale import is_loopback  # noqa: E402
from inflight.bench.measure.locust.page_user import PageUser  # noqa: E402
from inflight.bench.measure.locust.strategy_user import StrategyUser  # noqa: E402

LOOPBACK = "127.0.0.1"

__all__ = ["PageUser", "StrategyUser"]


def add_options(parser: Any, **_: Any) -> None:
    """Add the options of ours. On the web page a value keeps the type that its default has here.

    Not in a group of their own: Locust's page shows only what was added to the parser itself.
    """
    add, names = parser.add_argument, strategies.names()
    add("--strategy", choices=names, default="callbacks", help="which concurrency model StrategyUsers run")
    add("--in-flight", type=int, default=100, help="how many fetches each StrategyUser has in flight at most")
    add("--page-rate", type=float, default=0.0, help="pages per second that each PageUser begins at most; 0: no limit")
    permission = "you have the permission of whoever owns the --host, which is not this machine"
    # Locust's own default is all interfaces, and neither its page nor its protocol has a password.
    parser.set_defaults(web_host=LOOPBACK, master_bind_host=LOOPBACK)
    add("--not-loopback", action="store_true", include_in_web_ui=False, help=permission)


def refuse_other_hosts(environment: Any, **_: Any) -> None:
    """End Locust with one sentence when it is about to load a host that is not this machine, without permission.

    Twice, because the web page may set another host than the command line did.
    """
    options = environment.parsed_options
    host = environment.host or getattr(options, "host", None)
    if host is None or getattr(options, "not_loopback", False) or is_loopback(urlsplit(host).hostname or ""):
        return
    logging.getLogger(__name__).error(
        "%s is not this machine: load is sent there only with the permission of whoever owns that host; "
        "if you have it, add --not-loopback",
        host,
    )
    environment.process_exit_code = 2
    sys.exit(2)


# Locust's hooks have no type hints.
events.init_command_line_parser.add_listener(add_options)  # type: ignore[no-untyped-call]
events.init.add_listener(refuse_other_hosts)  # type: ignore[no-untyped-call]
events.test_start.add_listener(refuse_other_hosts)  # type: ignore[no-untyped-call]
