"""Which of the connections that are put aside are kept."""

from inflight.strategies.core.kept import MAX_KEPT, Kept
from inflight.strategies.core.page import Origin

HERE, THERE = (Origin(host, 80, f"http://{host}", 0, "") for host in ("here", "there"))


def test_a_connection_is_taken_once_and_for_its_own_origin_only() -> None:
    kept: Kept[str] = Kept()
    kept.put(HERE, "a")

    assert kept.take(THERE) is None
    assert kept.take(HERE) == "a"
    assert kept.take(HERE) is None


def test_the_connection_put_aside_last_is_taken_first() -> None:
    kept: Kept[str] = Kept()
    for origin, connection in ((HERE, "a"), (HERE, "b"), (THERE, "c")):
        kept.put(origin, connection)

    assert [kept.take(HERE), kept.take(HERE), kept.take(HERE)] == ["b", "a", None]
    assert list(kept) == ["c"]


def test_a_connection_too_many_is_exchanged_for_the_oldest() -> None:
    kept: Kept[int] = Kept()

    closed = [kept.put(HERE, number) for number in range(MAX_KEPT + 2)]

    assert closed == [None] * MAX_KEPT + [0, 1]
    assert list(kept) == list(range(2, MAX_KEPT + 2))
