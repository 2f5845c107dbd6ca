import asyncio
from collections import defaultdict


class Seen:
    def __init__(self):
        self.links = {}

    def admit(self, link):
        mine = object()
        return self.links.setdefault(link, mine) is mine  # look and act are one step of the interpreter


class Cache:
    def __init__(self, fetch):
        self.fetch = fetch
        self.pages = {}
        self.locks = defaultdict(asyncio.Lock)

    async def get(self, link):
        async with self.locks[link]:  # only those who want the same page wait for each other
            if link not in self.pages:
                self.pages[link] = await self.fetch(link)
            return self.pages[link]
