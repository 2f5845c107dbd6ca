"""What each validity check means, for people who meet it for the first time: what green says, what red would spoil.

The checks themselves are in the measuring half; only their names are shared, by the rows. A check that a row names and
that has no entry here is shown with its name alone.
"""

MEANINGS: dict[str, str] = {
    "answer correct": (
        "Green: the crawl found just the pages that the site has, each with its right status and size. "
        "Red: pages are missing or wrong, so a high throughput may only mean that work was left out."
    ),
    "no unexpected failures": (
        "Green: no page failed but those that the site makes fail on purpose. "
        "Red: failed pages were part of the crawl, and a page that fails at once is cheaper than one that is fetched."
    ),
    "cap reached, never exceeded": (
        "Green: as many fetches were in flight as were asked for, and never more, as client and server both counted. "
        "Red: the figures belong to another number in flight than the one that they are shown under."
    ),
    "requests counted alike": (
        "Green: the server received as many requests as the client says it sent. "
        "Red: one of the two lost count, so pages per second and time a page may be of other work than is told."
    ),
    "server had room": (
        "Green: the server could have answered faster than the client asked. "
        "Red: the server may have been the bottleneck, and then its speed was measured instead of the strategy's."
    ),
    "client had its core": (
        "Green: hardly anything else ran on the client's core while it crawled. "
        "Red: other programs took turns on that core, so the client looks slower than it is."
    ),
    "added latency exact": (
        "Green: responses were sent when they were due, or later by no more than the stated limit. "
        "Red: the server sent them late, so fetches waited longer than the latency that the figures are shown under."
    ),
    "no listen drops": (
        "Green: the kernel lost no connection in a full queue. "
        "Red: clients had to try again after a second or more, and that wait is in the times and in the throughput."
    ),
    "client ports left": (
        "Green: there was a free port for each connection that the client opened. "
        "Red: ports ran out, so some fetches waited or failed for a limit of the machine and not of the strategy."
    ),
    "limits allow it": (
        "Green: the system lets the client open as many files and start as many threads as the trial may need. "
        "Red: the client may have met such a limit, and the figures may show that limit."
    ),
    "Little's law": (
        "Green: throughput times the mean time of a fetch makes a number in flight that is possible, so the client's "
        "clock and counters agree with the site's own delays. "
        "Red: a time or a count is wrong, and with it everything that is worked out from it."
    ),
    "Little's law in the steady state": (
        "Green: once the cap was reached, the strategy kept it full, and throughput, times and number in flight fit "
        "together. Red: fetches were started late or the counts disagree, so the throughput is not that of the cap."
    ),
    "throughput steady": (
        "Green: the second half of the crawl was not much faster or slower than the first. "
        "Red: the pace changed on the way, and a mean over both halves describes neither."
    ),
    "enough samples for each quantile": (
        "Green: the detail names the quantiles of the times that rest on enough fetches. "
        "A quantile that it does not name may be one accident; throughput and memory do not depend on it."
    ),
    "long enough to tell": (
        "Green: answers came within a third of the window, so that most of it shows a server that is in full swing. "
        "Red: the window ended while the first answers were still under way, and whether the rate is kept is unknown."
    ),
    "no CPU steal": (
        "Green: the hypervisor, the host of a virtual machine, left the cores to this machine. "
        "Red: it gave them to others for a part of the time, so everything looks slower than it is."
    ),
    "knobs reached the worker": (
        "Green: the process that crawled found the settings that it was to have: core, interpreter, garbage collector. "
        "Red: it ran under other settings than those in its row, so it is not what it is said to be."
    ),
    "CPU work done": (
        "Green: where pages come with CPU work, it was done once for each page and took about the time asked for. "
        "Red: work was left out or took another time, so the figures belong to another amount of it."
    ),
    "all were started": (
        "Green: as many threads, tasks or generators were started as the trial is about. "
        "Red: there were fewer, so the memory that was read is that of another number."
    ),
    "all in flight, confirmed": (
        "Green: the gates of all servers together held as many fetches at one moment as the machine allows of what was "
        "asked for. Red: there were never that many, so times and memory belong to another number."
    ),
    "nobody was lost": (
        "Green: every strategy process, server and Locust worker lived to the end. "
        "Red: one was killed or died, so its fetches are missing from what was held, and from the answer."
    ),
    "Locust counted alike": (
        "Green: Locust's own statistics have as many requests and failures as the strategies and the servers do. "
        "Red: reports were lost or counted twice, so what Locust shows is not what was done."
    ),
    "reporting was cheap": (
        "Green: telling Locust what was done took hardly any of the strategy processes' CPU time. "
        "Red: it took so much that a part of the time and of the CPU is Locust's and not the strategy's."
    ),
    "enough samples for p99": (
        "Green: 1,000 fetches or more were timed, so the p99 rests on at least ten beyond it. Without that the p99 may "
        "be one accident. Newer rows have a check for each quantile in its place."
    ),
}
"""Name of a check to what it means."""

OLDER = frozenset({"enough samples for p99"})
"""Checks that only rows of earlier versions have."""
