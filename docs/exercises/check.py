"""Check an answer to an exercise, and say what is still wrong.

    python docs/exercises/check.py NUMBER [FILE]

The default of FILE is the start file of the exercise. The exit code is 0 when all checks pass, 1 when one fails, and 2
when the exercise or the file does not exist. The program ends after the first check that fails. A check that takes
longer than ``--seconds`` is stopped, because the answer hangs.
"""

import argparse
import asyncio
import importlib.util
import inspect
import linecache
import logging
import os
import signal
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

HERE = Path(__file__).parent
INDENT = " " * 11
sys.path.insert(0, str(HERE))

from lab import Wrong  # noqa: E402  (it stands beside this file)

Check = Callable[[ModuleType], None]


class StandsStill(KeyboardInterrupt):
    """Raised in a check that takes too long, with the frames where its tasks wait.

    asyncio lets a KeyboardInterrupt out of its loop at once.
    """


def main() -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="check.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("number", metavar="NUMBER", help="the number of the exercise")
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="your answer [default: its start file]")
    parser.add_argument("--seconds", type=float, default=20, help="time for each check [default: 20]")
    asked = parser.parse_args()
    folders = {path.name.partition("-")[0]: path for path in sorted(HERE.glob("[0-9]*-*"))}
    if asked.number not in folders:
        parser.error(f"there is no exercise {asked.number}; there are {', '.join(folders)}")
    folder = folders[asked.number]
    answer = asked.file or folder / "start.py"
    if not answer.is_file():
        parser.error(f"there is no file {answer}")
    return run(folder, answer.resolve(), asked.seconds)


def run(folder: Path, answer: Path, seconds: float) -> int:
    """Run the checks of an exercise until one fails, and print how each ended; return the exit code."""
    logging.disable()  # what asyncio reports of tasks that nobody awaited is reported by the checks
    signal.signal(signal.SIGALRM, _stop)
    checks = checks_of(load(folder / "checks.py"))
    print(title(folder))
    for place, check in enumerate(checks):
        problem = problem_of(check, answer, seconds)
        if problem is None:
            print(f"  ok       {sentence(check)}")
            continue
        print(f"  not yet  {sentence(check)}")
        print(textwrap.indent(problem, INDENT))
        for later in checks[place + 1 :]:
            print(f"  later    {sentence(later)}")
        print(f"Edit {shown(answer)} and try again.")
        return 1
    print(f"All {len(checks)} checks pass.")
    return 0


def problem_of(check: Check, answer: Path, seconds: float) -> str | None:
    """Return what is wrong with the answer by one check; None if nothing is."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        signal.setitimer(signal.ITIMER_REAL, seconds, 1)  # again each second, for a clean-up that stands still too
        try:
            check(load(answer))
        except StandsStill as error:
            problem = f"The program hangs{where(error, answer)}. It was stopped after {seconds:g} s."
        except BaseException as error:  # noqa: BLE001  (whatever the answer raises is to be reported)
            problem = words_for(error, answer)
        else:
            return None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    said = sorted({f"Python says: {one.message}." for one in caught if "never awaited" in str(one.message)})
    return "\n".join(textwrap.fill(text, 100 - len(INDENT)) for text in [problem, *said])


def words_for(error: BaseException, answer: Path) -> str:
    """Say what an exception means for the author of the answer."""
    while isinstance(error, BaseExceptionGroup):  # of a TaskGroup
        error = error.exceptions[0]
    if isinstance(error, Wrong):
        place = where(error.__cause__, answer) if error.__cause__ else ""
        return f"{error} The error was raised{place.removeprefix(',')}." if place else str(error)
    if isinstance(error, NotImplementedError):
        return f"Not written yet{where(error, answer)}."
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType) and not where(error, answer):
        return f"{answer.name} has no {error.name}. Do not rename what the start file defines."
    if isinstance(error, SyntaxError) and error.filename == str(answer):
        return f"Python cannot read line {error.lineno} of {answer.name}: {error.msg}."
    if isinstance(error, asyncio.CancelledError):
        advice = "Awaiting a cancelled task raises CancelledError in your function, too."
        return f"CancelledError{where(error, answer)}. {advice}"
    if isinstance(error, KeyError) and "is already registered" in str(error):
        advice = "Unregister a socket after its event, before you register it again."
        return f"KeyError: the socket is already registered{where(error, answer)}. {advice}"
    return f"{type(error).__name__}: {error}{where(error, answer)}."


def where(error: BaseException, answer: Path) -> str:
    """Return the innermost line of the answer in a traceback, as the end of a sentence; empty if there is none."""
    frames = [*(error.args if isinstance(error, StandsStill) else ()), *traceback.extract_tb(error.__traceback__)]
    frames = [frame for frame in frames if frame.filename == str(answer)]
    if not frames:
        return ""
    return f", in {frames[-1].name}, line {frames[-1].lineno}: `{frames[-1].line}`"


def load(path: Path) -> ModuleType:
    """Import a file anew under its own name."""
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def checks_of(module: ModuleType) -> list[Check]:
    """Return the checks of an exercise: its functions without an underscore, as they stand in the file."""
    functions = [value for name, value in vars(module).items() if inspect.isfunction(value) and name[0] != "_"]
    return [function for function in functions if function.__module__ == module.__name__]


def sentence(check: Check) -> str:
    """Return what a check asks for: the first line of its docstring."""
    return (check.__doc__ or check.__name__).partition("\n")[0].rstrip(".")


def title(folder: Path) -> str:
    """Return the heading of the exercise's page."""
    return (folder / "README.md").read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def shown(path: Path) -> str:
    """Return a path as one types it here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise StandsStill(*waiting_frames())


def waiting_frames() -> Iterator[traceback.FrameSummary]:
    """Yield where the tasks of the running event loop wait, if there is one: a traceback has the loop only."""
    try:
        tasks = asyncio.all_tasks()
    except RuntimeError:  # no event loop is running
        return
    for task in tasks:
        coroutine: Any = task.get_coro()
        while inspect.iscoroutine(coroutine) and coroutine.cr_frame is not None:
            yield traceback.StackSummary.extract([(coroutine.cr_frame, coroutine.cr_frame.f_lineno)])[0]
            coroutine = coroutine.cr_await


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # threads of the answer that stand still would keep the process
