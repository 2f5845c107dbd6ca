"""Step two coroutines by hand. They are generators that stop at each wait, and go on at the next `send`."""

import inspect
from collections.abc import Generator


def fetch(page: str) -> Generator[str, str, int]:
    """Send a request, wait for the answer, return its length."""
    print(f"  {page}: request sent")
    answer = yield f"the answer of {page}"
    print(f"  {page}: got {answer!r}")
    return len(answer)


def main() -> None:
    """Do what an event loop would do."""
    print("call both functions")
    first, second = fetch("/a"), fetch("/b")

    print("step both to their waits")
    for coroutine in (first, second):
        print(f"  waits for {next(coroutine)}")

    print("what they keep meanwhile")
    for coroutine in (first, second):
        print(f"  {inspect.getgeneratorstate(coroutine)}, {inspect.getgeneratorlocals(coroutine)}")

    print("the answer of /b comes first")
    for coroutine, answer in ((second, "hello"), (first, "good morning")):
        try:
            coroutine.send(answer)
        except StopIteration as end:
            print(f"  returned {end.value}")


if __name__ == "__main__":
    main()
