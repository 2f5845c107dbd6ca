"""Exercise 2: many workers share what they have seen. This file has two races."""


class Seen:
    """The links that are known. Many threads call `admit` at the same time."""

    def __init__(self):
        self.links = set()

    def admit(self, link):
        """Return True for the first call with a link, and False for all later ones."""
        if link in self.links:
            return False
        self.links.add(link)
        return True


class Cache:
    """The pages that were fetched. Many coroutines of one event loop call `get` at the same time."""

    def __init__(self, fetch):
        self.fetch = fetch
        self.pages = {}

    async def get(self, link):
        """Return the page. Each page is fetched once. Different pages do not wait for each other."""
        if link not in self.pages:
            self.pages[link] = await self.fetch(link)
        return self.pages[link]
