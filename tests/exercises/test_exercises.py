"""Each exercise: the start file fails as intended, right answers pass, typical mistakes are named."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.patience import FOREVER_S
from tests.processes import run_to_end

ROOT = Path(__file__).parents[2]
EXERCISES = ROOT / "docs" / "exercises"
FOLDERS = {path.name.partition("-")[0]: path for path in sorted(EXERCISES.glob("[0-9]*-*"))}
FAILED = "not yet"

BEGINS_WITH = {
    "1": "Never more than one fetch was in flight",
    "2": "Both were admitted. At this point no lock stopped the second one",
    "3": "40 fetches were in flight at once; 10 are allowed",
    "4": "first_of has returned, but 2 fetches have not ended",
    "5": "After 20 pages that do not exist, 19 more sockets are open",
    "6": "Not written yet, in run,",
}
"""What the check says of each start file."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A typical wrong answer: the solution with one piece of text replaced, and what the check says of it."""

    number: str
    what: str
    right: str
    wrong: str
    message: str
    seconds: float = FOREVER_S


MISTAKES = (
    Mistake(
        "1",
        "a task is awaited in the line that makes it",
        """    async with asyncio.TaskGroup() as group:
        orders = group.create_task(fetch(f"/orders/{user}"))
        friends = group.create_task(fetch(f"/friends/{user}"))
    return user, orders.result(), friends.result()""",
        """    orders = await asyncio.create_task(fetch(f"/orders/{user}"))
    friends = await asyncio.create_task(fetch(f"/friends/{user}"))
    return user, orders, friends""",
        "This is also true for a task that is made in the same line",
    ),
    Mistake(
        "1",
        "the results of tasks are forgotten",
        "orders.result(), friends.result()",
        "orders, friends",
        "For the orders, user_page returned a Task and not an answer",
    ),
    Mistake(
        "1",
        "a coroutine is not awaited",
        'await fetch(f"/user/{name}")',
        'fetch(f"/user/{name}")',
        "fetch was called with '/orders/<coroutine object",
    ),
    Mistake(
        "2",
        "each call makes a lock",
        "with self.lock:",
        "with threading.Lock():",
        "Each call makes a lock of its own",
    ),
    Mistake(
        "2",
        "only the act is locked",
        """            if link in self.links:
                return False
            self.links.add(link)
            return True""",
        """            known = link in self.links
        if known:
            return False
        with self.lock:
            self.links.add(link)
            return True""",
        "Check and act must be inside one block `with lock:`",
    ),
    Mistake(
        "2",
        "the lock is not released",
        "        with self.lock:",
        "        self.lock.acquire()\n        if True:",
        "The program hangs, in admit, line 16: `self.lock.acquire()`",
        5,
    ),
    Mistake(
        "2",
        "an await stands between look and act",
        """            self.tasks[link] = asyncio.create_task(self.fetch(link))
        return await self.tasks[link]""",
        """            self.tasks[link] = await self.fetch(link)
        return self.tasks[link]""",
        "Between the check (is it there?) and the act (store it) is an `await`",
    ),
    Mistake(
        "2",
        "one lock holds up all pages",
        """        if link not in self.tasks:
            self.tasks[link] = asyncio.create_task(self.fetch(link))
        return await self.tasks[link]""",
        """        self.turn = getattr(self, "turn", asyncio.Lock())
        async with self.turn:
            if link not in self.tasks:
                self.tasks[link] = await self.fetch(link)
        return self.tasks[link]""",
        "A lock around the fetch makes all pages wait for each other",
    ),
    Mistake(
        "3",
        "each fetch has a semaphore of its own",
        "async with places:",
        "async with asyncio.Semaphore(limit):",
        "all fetches must use the same semaphore",
    ),
    Mistake(
        "3",
        "one place for all fetches",
        """    async def in_turn(url):
        async with places:
            return await fetch(url)

    return await asyncio.gather(*(in_turn(url) for url in urls))""",
        """    async with places:
        return await asyncio.gather(*(fetch(url) for url in urls))""",
        "Each fetch needs a place of its own",
    ),
    Mistake(
        "3",
        "batches",
        "return await asyncio.gather(*(in_turn(url) for url in urls))",
        """pages = []
    while urls:
        pages += await asyncio.gather(*map(in_turn, urls[:limit]))
        urls = urls[limit:]
    return pages""",
        "Only one slow page was in flight while 30 pages waited for it",
    ),
    Mistake(
        "3",
        "a loop awaits each fetch",
        "await asyncio.gather(*(in_turn(url) for url in urls))",
        "[await in_turn(url) for url in urls]",
        "Does a loop await each fetch before it starts the next one?",
    ),
    Mistake(
        "3",
        "pages in the order in which they come",
        "return await asyncio.gather(*(in_turn(url) for url in urls))",
        "return [await page for page in asyncio.as_completed([in_turn(url) for url in reversed(urls)])]",
        "not in the order of their URLs",
    ),
    Mistake(
        "4",
        "tasks are cancelled and not awaited",
        "        await asyncio.gather(*tasks, return_exceptions=True)\n",
        "",
        "Await the task to be sure that it has stopped",
    ),
    Mistake(
        "4",
        "the error of a cancelled task is not expected",
        "        await asyncio.gather(*tasks, return_exceptions=True)\n",
        "        await tasks[0]\n",
        "Awaiting a cancelled task raises CancelledError in your function, too",
    ),
    Mistake(
        "4",
        "only the good way out is cleaned up",
        """    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)""",
        """    done, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    return done.pop().result()""",
        "`asyncio.wait` does not cancel the tasks that it waits for",
    ),
    Mistake(
        "4",
        "the cancellation is swallowed",
        "    finally:\n",
        "    except asyncio.CancelledError:\n        return b''\n    finally:\n",
        "CancelledError must leave the function",
    ),
    Mistake(
        "4",
        "the cancellation becomes another error",
        "    finally:\n",
        "    except asyncio.CancelledError:\n        raise ValueError('late ' * 60)\n    finally:\n",
        "late late …. The error was raised in first_of, line 16: `raise ValueError('late ' * 60)`.",
    ),
    Mistake(
        "4",
        "the first of the list is awaited",
        "done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)\n        return done.pop().result()",
        "return await tasks[0]",
        "The program hangs, in first_of, line 13: `return await tasks[0]`",
        10,
    ),
    Mistake(
        "4",
        "one URL after the other",
        "tasks = [asyncio.create_task(fetch(url)) for url in urls]",
        "tasks = [asyncio.create_task(fetch(url)) for url in urls[:1]]",
        "1 of 3 fetches were started. All should be in flight",
    ),
    Mistake(
        "5",
        "every connection is closed",
        "self.idle.append(connection)",
        "connection.close()",
        "21 pages took 21 connections",
    ),
    Mistake(
        "5",
        "a broken connection is used again",
        """        except BaseException:
            connection.close()
            raise
        self.idle.append(connection)""",
        "        finally:\n            self.idle.append(connection)",
        "Was the broken connection used again?",
    ),
    Mistake(
        "5",
        "a redirect is followed while the connection is in use",
        """        self.idle.append(connection)
        if response.status == 404:
            return None
        if response.status in {301, 302, 303, 307, 308}:
            return self.get(response.getheader("Location"))
        return body""",
        """        if response.status in {301, 302, 303, 307, 308}:
            body = self.get(response.getheader("Location"))
        self.idle.append(connection)
        return None if response.status == 404 else body""",
        "1 more socket is open than before. That is not one per page.",
    ),
    Mistake(
        "5",
        "the body of a missing page is not read",
        "body = response.read()",
        "body = response.read() if response.status != 404 else b''",
        "was the body of the previous page read?",
    ),
    Mistake(
        "5",
        "closed connections are remembered",
        "            connection.close()\n            raise",
        """            connection.close()
            self.closed = [*getattr(self, "closed", ()), connection]
            raise""",
        "the client still holds 20 connections",
    ),
    Mistake(
        "6",
        "a future that is done is waited for",
        "        if not self.done:\n            yield self",
        "        yield self",
        "The program hangs",
        2,
    ),
    Mistake(
        "6",
        "the loop waits for each socket where it is asked for",
        "        self.selector.register(sock, kind, future)\n",
        "        with selectors.DefaultSelector() as one:\n"
        "            one.register(sock, kind)\n"
        "            one.select()\n"
        "        future.resolve()\n",
        "saw 1 at once",
    ),
    Mistake(
        "6",
        "a socket stays registered",
        "                    self.selector.unregister(key.fileobj)\n",
        "",
        "Unregister a socket after its event, before you register it again",
    ),
    Mistake(
        "6",
        "the loop spins",
        "self.selector.select()",
        "self.selector.select(0)",
        "and sleep there until a socket is ready",
    ),
    Mistake(
        "6",
        "the result is lost",
        "            self.result = end.value\n",
        "",
        "The result of a coroutine is the `value` of its StopIteration",
    ),
)


def check(number: str, *arguments: object, seconds: float = FOREVER_S) -> "subprocess.CompletedProcess[str]":
    return run_to_end(
        [sys.executable, "docs/exercises/check.py", number, *map(str, arguments), "--seconds", str(seconds)], cwd=ROOT
    )


def solution(number: str) -> Path:
    (path,) = (EXERCISES / "solutions").glob(f"{number}-*.py")
    return path


def words(text: str) -> str:
    """Return a text in one line: messages are wrapped."""
    return " ".join(text.split())


@pytest.mark.ci
@pytest.mark.parametrize("number", FOLDERS)
def test_the_start_file_fails_and_the_message_says_what_is_wrong(number: str) -> None:
    done = check(number)

    assert done.returncode == 1
    assert BEGINS_WITH[number] in words(done.stdout)
    assert f"docs/exercises/{FOLDERS[number].name}/start.py" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert "a task that is made in the same line" not in words(done.stdout)


@pytest.mark.ci
@pytest.mark.parametrize("number", FOLDERS)
def test_the_solution_passes(number: str) -> None:
    done = check(number, solution(number))

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert FAILED not in done.stdout


@pytest.mark.night
@pytest.mark.parametrize("answer", sorted(EXERCISES.glob("solutions/other-forms/*.py")), ids=lambda path: path.stem)
def test_a_right_answer_in_another_form_passes(answer: Path) -> None:
    done = check(answer.name[0], answer)

    assert done.returncode == 0, done.stdout


@pytest.mark.night
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: f"{mistake.number}: {mistake.what}")
def test_a_typical_mistake_is_named(mistake: Mistake, tmp_path: Path) -> None:
    right = solution(mistake.number).read_text("utf-8")
    assert right.count(mistake.right) == 1
    answer = tmp_path / "answer.py"
    answer.write_text(right.replace(mistake.right, mistake.wrong), "utf-8")

    done = check(mistake.number, answer, seconds=mistake.seconds)

    assert done.returncode == 1
    assert mistake.message in words(done.stdout)


@pytest.mark.night
def test_a_file_that_python_cannot_read_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text("async def user_page(name, fetch)\n    return 1\n", "utf-8")

    done = check("1", tmp_path / "answer.py")

    assert done.returncode == 1
    assert "Python cannot read line 1 of answer.py" in words(done.stdout)
