"""The locustfile for plain Locust: ``locust -f bench/measure/swarm/locustfile.py``. The harness does not use it.

For people who know Locust. It has two classes of users: PageUser browses a site (``inflight serve`` has one), and
StrategyUser crawls it with a strategy process (``--strategy``, ``--in-flight``). To run only one of them, name it on
the command line::

    locust -f bench/measure/swarm/locustfile.py PageUser --headless -u 20 -t 30s --host http://127.0.0.1:8080

Our options can be set on Locust's web page too.
"""

import logging
import sys
from pathlib import Path
from typing import Any

from locust import events

ROOT = Path(__file__).resolve().parents[3]
"""Top of the checkout."""
if (ROOT / "inflight").is_dir() and str(ROOT) not in sys.path:  # a checkout; Locust may be started in any folder
    sys.path.insert(0, str(ROOT))

from inflight import strategies  # noqa: E402  (needs the path set above)
from inflight.bench.measure.swarm.page_user import PageUser  # noqa: E402
from inflight.bench.measure.swarm.strategy_user import StrategyUser  # noqa: E402
from inflight.bench.plan.scale import refusal  # noqa: E402

LOOPBACK = "127.0.0.1"
"""The address on which Locust listens unless its own options say otherwise."""

__all__ = ["PageUser", "StrategyUser"]


def add_options(parser: Any, **_: Any) -> None:
    """Add our options. On the web page, a value has the type of its default.

    They are not in a group of their own, because Locust's page shows only options of the parser itself.
    """
    add, names = parser.add_argument, strategies.names()
    add("--strategy", choices=names, default="callbacks", help="strategy that StrategyUsers run")
    add("--in-flight", type=int, default=100, help="maximum number of fetches in flight of each StrategyUser")
    add("--page-rate", type=float, default=0.0, help="maximum pages per second of each PageUser; 0: no limit")
    permission = "state that the owner of the --host, which is not this machine, permits the load"
    # Locust listens on all interfaces by default, and neither its page nor its protocol has a password.
    parser.set_defaults(web_host=LOOPBACK, master_bind_host=LOOPBACK)
    add("--not-loopback", action="store_true", include_in_web_ui=False, help=permission)


def refuse_other_hosts(environment: Any, **_: Any) -> None:
    """End Locust with an error when the host is not this machine and ``--not-loopback`` is not given.

    This runs at the start of Locust and of each test, because the web page may set another host.
    """
    options = environment.parsed_options
    host = environment.host or getattr(options, "host", None)
    if host is None or getattr(options, "not_loopback", False) or (refused := refusal(host)) is None:
        return
    logging.getLogger(__name__).error(refused)
    environment.process_exit_code = 2
    sys.exit(2)


# Locust's hooks have no type hints.
events.init_command_line_parser.add_listener(add_options)  # type: ignore[no-untyped-call]
events.init.add_listener(refuse_other_hosts)  # type: ignore[no-untyped-call]
events.test_start.add_listener(refuse_other_hosts)  # type: ignore[no-untyped-call]
