"""Save three pages: one call without `await`, one with it, and one task that nobody waits for."""

import asyncio
import warnings


async def save(page: str) -> None:
    print(f"{page}: begin")
    await asyncio.sleep(0.1)  # the disk
    print(f"{page}: saved")


async def main() -> None:
    save("/a")
    await save("/b")
    asyncio.create_task(save("/c"))  # noqa: RUF006  (the mistake that is shown)
    await asyncio.sleep(0)
    print("main: end")


def show(message: object, *_: object) -> None:
    print(f"warning: {message}")


if __name__ == "__main__":
    warnings.showwarning = show
    asyncio.run(main())
