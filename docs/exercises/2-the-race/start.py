"""Exercise 2: many workers share what they have seen. Two places of this file have a race."""


class Seen:
    """The links that are known. Many threads call `admit` at the same time."""

    def __init__(self):
        self.links = set()

    def admit(self, link):
        """Return True to the first one who comes with a link, and False to all others."""
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
        """Return the page. It is fetched once, however many ask for it; different pages do not wait for each other."""
        if link not in self.pages:
            self.pages[link] = await self.fetch(link)
        return self.pages[link]
