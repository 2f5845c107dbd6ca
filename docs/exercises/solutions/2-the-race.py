"""Exercise 2: one lock around check and act; and a task in the cache instead of the page."""

import asyncio
import threading


class Seen:
    """The links that are known. Many threads call `admit` at the same time."""

    def __init__(self):
        self.links = set()
        self.lock = threading.Lock()

    def admit(self, link):
        """Return True for the first call with a link, and False for all later ones."""
        with self.lock:
            if link in self.links:
                return False
            self.links.add(link)
            return True


class Cache:
    """The pages that were fetched. Many coroutines of one event loop call `get` at the same time."""

    def __init__(self, fetch):
        self.fetch = fetch
        self.tasks = {}

    async def get(self, link):
        """Return the page. The task is stored before the first wait, so there is no wait between check and act."""
        if link not in self.tasks:
            self.tasks[link] = asyncio.create_task(self.fetch(link))
        return await self.tasks[link]
