"""The meaning of each validity check, for people who do not know it yet: what follows if it passes or fails.

The checks themselves are in the measuring half; rows share only their names with it. A check without an entry is shown
by its name alone.
"""

MEANINGS: dict[str, str] = {
    "answer correct": (
        "Passed: the crawl found exactly the pages of the site, each with the correct status and size. "
        "Failed: pages are missing or wrong, so a high throughput may only mean that work was skipped."
    ),
    "no unexpected failures": (
        "Passed: only those pages failed that the site makes fail on purpose. "
        "Failed: other pages failed, and a page that fails at once is cheaper than one that is fetched."
    ),
    "cap reached, never exceeded": (
        "Passed: client and server both counted as many fetches in flight as the workload asks for, and never more. "
        "Failed: the figures belong to a different number in flight from the one that is shown."
    ),
    "requests counted alike": (
        "Passed: the server received as many requests as the client says it sent. "
        "Failed: one of the two counts is wrong, so pages per second and times may be wrong too."
    ),
    "server had room": (
        "Passed: the server could have answered faster than the client asked. "
        "Failed: the server may have been the bottleneck; then the figures show its speed, not the strategy's."
    ),
    "client had its core": (
        "Passed: almost nothing else ran on the client's core during the crawl. "
        "Failed: other programs used that core, so the client looks slower than it is."
    ),
    "added latency exact": (
        "Passed: the server sent responses on time, or late by no more than the limit of the check. "
        "Failed: the server sent them late, so fetches waited longer than the added latency that is shown."
    ),
    "no listen drops": (
        "Passed: the kernel lost no connection in a full queue. "
        "Failed: clients retried after a second or more, and that wait is part of times and throughput."
    ),
    "client ports left": (
        "Passed: the client had a free port for each connection that it opened. "
        "Failed: ports ran out, so some fetches waited or failed because of the machine and not of the strategy."
    ),
    "limits high enough": (
        "Passed: the limits on open files and threads are high enough for the trial. "
        "Failed: the client may have reached a limit, and the figures may show that limit instead of the strategy."
    ),
    "Little's law": (
        "Passed: throughput times the mean time of a fetch is a possible number in flight, so the client's clock and "
        "counters agree with the delays of the site. "
        "Failed: a time or a count is wrong, and so is everything computed from it."
    ),
    "Little's law in the steady state": (
        "Passed: after the cap was first reached, the strategy kept that many in flight, and throughput, times and "
        "number in flight agree. Failed: fetches started late, or counts disagree; the throughput is of another cap."
    ),
    "throughput steady": (
        "Passed: the second half of the crawl was not much faster or slower than the first. "
        "Failed: the speed changed during the crawl, and a mean over both halves describes neither."
    ),
    "enough samples for each quantile": (
        "Passed: the raw data name the quantiles of times that have enough fetches. "
        "Any other quantile may be due to a single slow fetch. Throughput and memory do not depend on it."
    ),
    "window long enough": (
        "Passed: answers came within a third of the window, so most of the window shows the offered load. "
        "Failed: the window ended before the first answers came, and whether the rate is kept is unknown."
    ),
    "no CPU steal": (
        "Passed: the hypervisor, which hosts this virtual machine, gave it its cores all the time. "
        "Failed: other machines had them for a part of the time, so everything looks slower than it is."
    ),
    "settings applied": (
        "Passed: the process that crawled had the requested settings: core, interpreter, garbage collector. "
        "Failed: it ran with settings other than those in its row, so the row describes another trial."
    ),
    "CPU work done": (
        "Passed: the CPU work of pages was done once for each page and took about the requested time. "
        "Failed: work was skipped or took a different time, so the figures belong to a different amount of work."
    ),
    "all were started": (
        "Passed: all threads, tasks or generators of the trial were started. "
        "Failed: fewer were started, so the memory belongs to another number."
    ),
    "all in flight, confirmed": (
        "Passed: the gates of all servers together held all planned fetches at one moment, or as many as the machine "
        "allows. Failed: there were never that many, so times and memory belong to another number."
    ),
    "all processes survived": (
        "Passed: every strategy process, server and Locust worker lived to the end. "
        "Failed: one was killed or died, so its fetches are missing from the number held and from the answer."
    ),
    "Locust counted alike": (
        "Passed: Locust's own statistics have the same numbers of requests and failures as strategies and servers. "
        "Failed: reports were lost or counted twice, so the figures of Locust are wrong."
    ),
    "reporting overhead low": (
        "Passed: reporting to Locust took almost none of the CPU time of the strategy processes. "
        "Failed: a part of the times and of the CPU time belongs to Locust and not to the strategy."
    ),
    "enough samples for p99": (
        "Passed: 1,000 fetches or more were timed, so at least ten are slower than the p99. With fewer, the p99 may be "
        "due to a single slow fetch. Later versions check each quantile instead."
    ),
}
"""Meaning of each check, by its name."""

OLDER = frozenset(
    {
        *("enough samples for p99", "enough samples for each quantile", "throughput steady"),
        *("Little's law", "Little's law in the steady state"),
    }
)
"""Checks that only rows of earlier versions have."""
