"""A locustfile for ``tools.crosscheck``: users that send one request after the other, without pauses.

PageUser of ``bench/measure/swarm`` parses each page, which would count as Locust's own cost.
"""

from itertools import cycle

from locust import FastHttpUser, task

PATHS = cycle([f"/p/{number}" for number in range(1, 1000)])


class PlainUser(FastHttpUser):
    """A user of the closed loop."""

    @task
    def fetch(self) -> None:
        """Request the next page. All pages are one entry of the statistics."""
        self.client.get(next(PATHS), name="/p/[n]")
