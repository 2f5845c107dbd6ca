"""Kinds and links of pages by number: arithmetic only, nothing is stored per page.

Page numbers are divided into ranges:

    0 .. html        html pages: they link
      .. missing     other content, then missing pages: leaves
      .. linkable    heads of redirect chains: leaves that point on
      .. pages       inner hops of chains, reached through their own chain only

A chain that is longer than a crawler's limit therefore ends at the same hop in whatever order the crawl runs.
Everything linkable is one tree: html page n has the children fanout*n+1 .. fanout*n+fanout, so every page has
a path from page 0. The other links of a page are cross links: each slot is a permutation (a*n + b) % linkable
with a coprime to linkable, so every page is linked to about equally often.
"""

import math
from typing import Literal

from inflight.fake_server.config import SiteConfig
from inflight.fake_server.draws import integer, stream, unit

Kind = Literal["html", "other", "missing", "redirect"]


class Graph:
    """The pages of a site by number. Building a graph takes O(links), independent of the number of pages."""

    def __init__(self, config: SiteConfig) -> None:
        room = config.pages - 1  # page 0 is always html
        redirects = min(room, round(config.redirects * config.pages))
        missing = min(room - redirects, round(config.missing * config.pages))
        other = min(room - redirects - missing, round(config.non_html * config.pages))
        self.pages = config.pages
        self.html = config.pages - redirects - missing - other
        self.other_end = self.html + other
        self.missing_end = self.other_end + missing
        self.redirects = redirects
        self.hops = config.redirect_chain
        self.chains = -(-redirects // self.hops)  # the last chain takes what is left and may be shorter
        self.linkable = self.missing_end + self.chains
        self._targets = min(config.redirect_targets or self.chains, max(1, self.html - 1))
        self._target_shift = integer(stream(config.seed, "target"), 0)
        self._links = min(config.links, self.linkable - 1)
        self._fanout = self._needed_fanout(config.links)
        self._slots = _permutations(config.seed, config.links, self.linkable)

    def kind(self, n: int) -> Kind:
        """Return the kind of page n."""
        if n < self.html:
            return "html"
        if n < self.other_end:
            return "other"
        return "missing" if n < self.missing_end else "redirect"

    def links(self, n: int) -> tuple[int, ...]:
        """Return the links of html page n: distinct, never n itself, and more than `links` if the tree needs them.

        A slot whose page is taken gets the next free page. `after` maps each taken page towards that page, so that
        thousands of links need no walk over all pages taken before.
        """
        fanout, linkable = self._fanout, self.linkable
        first, end = fanout * n + 1, min(fanout * (n + 1) + 1, linkable)
        targets = list(range(first, end))
        after = dict.fromkeys(targets, end % linkable)
        after[n] = (n + 1) % linkable
        for a, b in self._slots[len(targets) : self._links]:
            target = (a * n + b) % linkable
            if target in after:
                target = _next_free(after, target)
            targets.append(target)
            after[target] = (target + 1) % linkable
        return tuple(targets)

    def next_hop(self, n: int) -> int:
        """Return the target of redirect n: the next hop of its chain, or an html page at the end of the chain."""
        inner_hops = self.hops - 1
        if n < self.linkable:
            chain, hop = n - self.missing_end, 0
        else:
            chain, inner = divmod(n - self.linkable, inner_hops)
            hop = inner + 1
        length = min(self.hops, self.redirects - chain * self.hops)
        return self._final(chain) if hop + 1 == length else self.linkable + chain * inner_hops + hop

    def _final(self, chain: int) -> int:
        # Not page 0 if there is another page: the root is always seen, so a redirect to it proves nothing.
        others = self.html - 1
        if others == 0:
            return 0
        spread = chain % self._targets * others // self._targets
        return 1 + (spread + self._target_shift) % others

    def _needed_fanout(self, links: int) -> int:
        if links == 0:
            return 0
        wished = min(links, max(2, links // 2))  # the rest are cross links
        return max(wished, -(-(self.linkable - 1) // self.html))


def _next_free(after: dict[int, int], taken: int) -> int:
    """Return the first free page behind a taken one, and shorten the way there for those who ask next."""
    free = taken
    while free in after:
        free = after[free]
    while taken != free:
        after[taken], taken = free, after[taken]
    return free


def _permutations(seed: int, count: int, size: int) -> list[tuple[int, int]]:
    factors, shifts = stream(seed, "factor"), stream(seed, "shift")
    slots = []
    for slot in range(count):
        a = 1 + int(unit(factors, slot) * size)
        while math.gcd(a, size) != 1:
            a += 1
        slots.append((a, integer(shifts, slot) % size))
    return slots
