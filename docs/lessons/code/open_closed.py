"""Calculate what two clients see of a server that stalls for one second. Nothing is sent, nothing waits."""

from statistics import mean, median

ANSWER_MS = 10
STALL_FROM_MS, STALL_TO_MS = 5_000, 6_000
END_MS = 10_000
EVERY_MS = 20
SLOW_MS = 50


def answered(arrives_ms: int, free_ms: int) -> int:
    """Return when the server has answered. It takes one request after another, and none during the stall."""
    start_ms = max(arrives_ms, free_ms)
    if STALL_FROM_MS <= start_ms < STALL_TO_MS:
        start_ms = STALL_TO_MS
    return start_ms + ANSWER_MS


def closed_loop() -> list[int]:
    """Send a request every 20 ms, but never before the last one is answered; return the waiting times in ms."""
    waits_ms, now_ms = [], 0
    while now_ms < END_MS:
        done_ms = answered(now_ms, free_ms=now_ms)
        waits_ms.append(done_ms - now_ms)
        now_ms = max(now_ms + EVERY_MS, done_ms)
    return waits_ms


def open_loop() -> list[int]:
    """Send a request every 20 ms, whatever happens; return the waiting times in ms."""
    waits_ms, free_ms = [], 0
    for now_ms in range(0, END_MS, EVERY_MS):
        free_ms = answered(now_ms, free_ms)
        waits_ms.append(free_ms - now_ms)
    return waits_ms


def main() -> None:
    """Print a line for each client."""
    for name, waits_ms in (("closed loop", closed_loop()), ("open loop", open_loop())):
        slow = sum(wait_ms > SLOW_MS for wait_ms in waits_ms)
        print(
            f"{name:<12} {len(waits_ms)} requests, {slow:>2} of them slower than {SLOW_MS} ms;"
            f" median {median(waits_ms):.0f} ms, mean {mean(waits_ms):.0f} ms, longest {max(waits_ms)} ms"
        )


if __name__ == "__main__":
    main()
