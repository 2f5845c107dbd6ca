import asyncio
from threading import RLock


class Seen:
    def __init__(self):
        self.links = []
        self.door = RLock()

    def admit(self, link):
        self.door.acquire()
        try:
            new = link not in self.links
            if new:
                self.links.append(link)
        finally:
            self.door.release()
        return new


class Cache:
    def __init__(self, fetch):
        self.fetch = fetch
        self.pages = {}

    async def get(self, link):
        if link in self.pages:
            return await self.pages[link]
        self.pages[link] = coming = asyncio.get_running_loop().create_future()
        page = await self.fetch(link)
        coming.set_result(page)
        return page
