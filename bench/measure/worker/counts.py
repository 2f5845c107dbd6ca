"""Count what one strategy does per page: a crawl of an endless site is counted from one of its pages to a later one.

``measure.counts`` runs it as a program, once for each counter and repeat, and orders ``count``. The answers are
``crawled``, with the pages, and ``counted``, with totals by name. The crawl never ends: the process does, at the last
page. No counter counts what the functions of this file do.

Strategies of older revisions are counted, too: of their core, only ``Frontier.finished``, a list, and
``Frontier.finish`` are used.
"""

import _thread
import gc
import itertools
import os
import re
import resource
import sys
import threading
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, MappingProxyType
from typing import Any

from inflight.bench.measure.worker import Say, serve
from inflight.bench.measure.worker.arm import age_allocator, plant
from inflight.bench.measure.worker.crawl import StrategyPart
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.page import Fetch

HAS_MONITORING = sys.version_info >= (3, 12)
"""Whether the interpreter has sys.monitoring, whose events are those of all threads (PEP 669)."""
OF_READING = (
    "<built-in method gc.isenabled>",
    "<built-in method gc.disable>",
    "<built-in method gc.enable>",
    "<method 'getstats' of '_lsprof.Profiler' objects>",
)
"""Calls of C functions by which the profilers are read."""
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""What differs from process to process in the names of some functions in C."""
AT_THREAD_START: list[Callable[[], None]] = []
"""What each new thread calls first, up to Python 3.11, where each thread is watched by itself."""


def start_new_thread(function: Callable[..., Any], args: Any, kwargs: Any = MappingProxyType({})) -> int:
    """Take the place of ``_thread.start_new_thread``, with which all threads of Python code begin."""
    return _start_new_thread(_begin_thread, (function, args, kwargs))


def _begin_thread(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Begin a thread: watch it, then call its function."""
    for begin in AT_THREAD_START:
        begin()
    function(*args, **kwargs)


if not HAS_MONITORING:  # before the strategy is imported, which may keep the function
    _start_new_thread = _thread.start_new_thread
    vars(_thread)["start_new_thread"] = start_new_thread
    vars(threading)["_start_new_thread"] = start_new_thread


class WatchedList(list[Fetch]):
    """A list whose method ``append`` can be replaced."""


class CountPart(StrategyPart):
    """One crawl that is counted."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        super().__init__(order, say)
        self.say = say
        self.first, self.last = order["pages"]
        self._counter: Calls | Bytecodes | SystemCalls = COUNTERS[order["counter"]](self)
        if order["planted_loops"] is not None:
            plant(self.frontier, order["planted_loops"])
        age_allocator()  # else each read of asyncio may map memory and unmap it, three system calls more

    def count(self) -> dict[str, Any] | None:
        """Crawl to the last page, and send the pages and what was counted; return it if another process crawls."""
        return self._counter.count()

    def crawl(self) -> None:
        """Crawl until the last page, or until the strategy fails. The process ends in this call."""
        finished = self.frontier.finished = WatchedList()
        add, number = list[Fetch].append.__get__(finished), 0

        def append(fetch: Fetch) -> None:
            """Add a fetch that has just finished; begin or end the counting at its page."""
            nonlocal number
            add(fetch)  # one call in C, which a frontier makes
            number += 1
            if number == self.first:
                self._counter.begin()
            elif number == self.last:
                self._counter.end()
                os._exit(0)  # other threads may still crawl

        finished.append = append  # type: ignore[method-assign]
        timed = self.timed()
        if timed["error"] is None:
            self.send_counts(f"the crawl ended before page {self.last}")
        else:
            self.say({"event": "crawled", "error": timed["error"], "cause": timed["cause"]})
        os._exit(0)

    def send_pages(self) -> None:
        """Send the pages: path, status and body bytes of each."""
        pages = [["/" + fetch.url.split("/", 3)[3], fetch.status, fetch.size] for fetch in self.frontier.finished]
        self.say({"event": "crawled", "error": None, "answer": pages})

    def send_counts(self, lack: str | None, **counts: Any) -> None:
        """Send the pages, and what was counted in this process, or why it is not what they took."""
        self.send_pages()
        self.say({"event": "counted", "lack": lack, **counts})


class Calls:
    """Calls of Python functions and of C functions, counted by the profiler of cProfile, ``_lsprof``.

    A generator or coroutine that continues counts as called, because Python enters its frame again. Calls from C to C
    are invisible. Up to Python 3.11 a profiler sees its own thread only, so that each thread has one.
    """

    def __init__(self, part: CountPart) -> None:
        from _lsprof import Profiler

        self._part, self._new = part, Profiler
        self._profilers = [Profiler()]

    def count(self) -> None:
        """Crawl with a profiler in each thread."""
        AT_THREAD_START.append(self._profile_thread)
        self._profilers[0].enable()
        self._part.crawl()

    def _profile_thread(self) -> None:
        """Profile the thread that calls this."""
        self._profilers.append(self._new())
        self._profilers[-1].enable()

    def begin(self) -> None:
        """Read all profilers; nothing that is counted may follow."""
        self._used, self._children = resource.getrusage(resource.RUSAGE_SELF), Children()
        self._before = self._read()

    def end(self) -> None:
        """Read all profilers again, and send the differences."""
        after = self._read()
        used, before = resource.getrusage(resource.RUSAGE_SELF), self._used
        python_calls, c_calls = by_function(after)
        for counts, earlier in zip((python_calls, c_calls), by_function(self._before), strict=True):
            counts.subtract(earlier)
        self._part.send_counts(
            lack=self._lack(python_calls),
            python_calls=+python_calls,
            c_calls=+c_calls,
            page_faults=used.ru_minflt + used.ru_majflt - before.ru_minflt - before.ru_majflt,
            switches=used.ru_nvcsw + used.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw,
        )

    def _read(self) -> list[Any]:
        """Return the stats of all profilers.

        Up to Python 3.11 they must not be read while garbage is collected: a finalizer that runs in the middle of it
        changes the table that is read, and its entries are lost (rotatingtree.c).
        """
        was_enabled = gc.isenabled()
        gc.disable()
        stats = [profiler.getstats() for profiler in self._profilers]
        if was_enabled:
            gc.enable()
        return stats

    def _lack(self, python_calls: Counter[str]) -> str | None:
        """Return why the counts are not those of the pages: other processes or unseen threads; None if they are."""
        finishes, pages = python_calls[name_of(Frontier.finish.__code__)], self._part.last - self._part.first
        lack = None if finishes == pages else f"{finishes} of {pages} calls of Frontier.finish were seen"
        return self._children.lack_of("calls") or lack


class Children:
    """The child processes from now on."""

    def __init__(self) -> None:
        self._faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt

    def lack_of(self, what: str) -> str | None:
        """Return why something is not counted: there is a child, or one was waited for and has left page faults."""
        lack = f"the strategy has child processes, and their {what} are not counted"
        if resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt != self._faults:
            return lack
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return None
        return lack


def by_function(stats: list[Any]) -> tuple[Counter[str], Counter[str]]:
    """Return the numbers of calls of Python functions and of C functions, from what profilers have."""
    python_calls, c_calls = Counter[str](), Counter[str]()
    for entry in itertools.chain.from_iterable(stats):
        if isinstance(entry.code, str):
            c_calls[ADDRESS.sub("", entry.code)] += entry.callcount
        elif entry.code.co_filename != __file__:
            python_calls[name_of(entry.code)] += entry.callcount
    for name in OF_READING:
        del c_calls[name]
    return python_calls, c_calls


@cache
def name_of(code: CodeType) -> str:
    """Return the file and the qualified name of a function; the file as imports find it, without its folder."""
    path = Path(code.co_filename)
    parents = [Path(folder) for folder in sys.path if len(Path(folder).parts) > 1 and path.is_relative_to(folder)]
    if parents:
        path = path.relative_to(max(parents, key=lambda folder: len(folder.parts)))
    elif path.is_absolute():
        path = Path(path.name)
    return f"{path.as_posix().removeprefix('inflight/')}:{code.co_qualname}"


class Bytecodes:
    """Bytecode instructions, in all threads."""

    def __init__(self, part: CountPart) -> None:
        self._part = part
        self._numbers = itertools.count()
        """Its next number is how many instructions were counted: a step in C, which no thread interrupts."""

    def count(self) -> None:
        """Crawl with tracing."""
        if HAS_MONITORING:
            self._monitor()
        else:
            AT_THREAD_START.append(lambda: sys.settrace(self._trace))
            sys.settrace(self._trace)
        self._part.crawl()

    def _trace(self, frame: FrameType, event: str, _argument: Any) -> Any:
        """Count an instruction; the trace function of each frame, up to Python 3.11."""
        if frame.f_code.co_filename == __file__:
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        if event == "opcode":
            next(self._numbers)
        return self._trace

    def _monitor(self) -> None:
        """Have sys.monitoring count each instruction of all threads."""
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]

        def count(code: CodeType, _offset: int) -> Any:
            """Count an instruction, unless it is one of this file."""
            if code.co_filename == __file__:
                return monitoring.DISABLE
            next(self._numbers)
            return None

        monitoring.use_tool_id(monitoring.PROFILER_ID, "inflight")
        monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.INSTRUCTION, count)
        monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.INSTRUCTION)

    def begin(self) -> None:
        """Read the number."""
        self._children = Children()
        self._before = next(self._numbers)

    def end(self) -> None:
        """Read it again, and send the difference."""
        bytecodes = next(self._numbers) - self._before - 1  # reading the number has raised it by 1, too
        self._part.send_counts(self._children.lack_of("bytecodes"), bytecodes=bytecodes)


class SystemCalls:
    """System calls by number, in all threads and child processes: a child crawls, and this process traces it.

    The marks of the first and of the last page are system calls that nobody else makes.
    """

    def __init__(self, part: CountPart) -> None:
        self._part = part

    def count(self) -> dict[str, Any]:
        """Crawl in a child, and return the counts. Where tracing is refused, the child crawls without it."""
        from inflight.bench.measure.worker import trace

        is_watched, watch = os.pipe()  # the child waits for the end of this pipe until it is traced, or cannot be
        child = os.fork()
        if child == 0:
            os.close(watch)
            os.read(is_watched, 1)
            self._part.crawl()
        os.close(is_watched)
        lack: str | None = None
        try:
            trace.seize(child)
        except OSError as error:
            counts, lack = None, f"system calls cannot be traced: {error.strerror}"
            os.close(watch)
            _, status = os.waitpid(child, 0)
        else:
            os.close(watch)
            counts, status = trace.system_calls(child)
            if counts is None:
                lack = "this kernel does not say which system calls a process makes"
            elif not counts:
                lack = "the marks of its first and of its last page were not seen once each"
        if code := os.waitstatus_to_exitcode(status):
            end_like(code)
        return {"event": "counted", "lack": lack, "system_calls": counts}

    def begin(self) -> None:
        """Mark the first page."""
        os.sched_get_priority_max(os.SCHED_OTHER)

    def end(self) -> None:
        """Mark the last page."""
        os.sched_get_priority_max(os.SCHED_OTHER)
        self._part.send_pages()


def end_like(code: int) -> None:
    """End this process as a child has ended: with its exit code, or by its signal."""
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


COUNTERS: dict[str, type[Calls | Bytecodes | SystemCalls]] = {
    "calls": Calls,
    "system calls": SystemCalls,
    "bytecodes": Bytecodes,
}
"""Ways to count. ``count`` has the part crawl; ``begin`` is called at the first page, ``end`` at the last one."""

if __name__ == "__main__":
    serve(CountPart)
