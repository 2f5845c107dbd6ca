"""What a lesson quotes and calculates agrees: its arithmetic, its stored figures, and what its answer says of them."""

import re
from pathlib import Path

import pytest

from tools.lesson_pages import LESSONS, ROOT, lesson_paths, read, written_wrong

PAGES = [*lesson_paths(), ROOT / "docs" / "slides" / "lecture.md"]
DIVISION = re.compile(r"([\d,.]*\d) / ([\d,.]*\d)( ms)? = ([\d,.]*\d)")
SCALE = {"µs": 1e-6, "ms": 1e-3, "B": 1, "kB": 1e3, "MB": 1e6}
Tables = dict[str, dict[str, list[float]]]
"""The figures of each line of each table, in seconds and bytes, by the title and the name of the line."""


def number(text: str) -> float:
    return float(text.replace(",", ""))


def figure(cell: str) -> float:
    """Return the figure of a cell in seconds or bytes; NaN for none."""
    value, *rest = cell.split()
    if not re.fullmatch(r"-?[\d,.]+", value):
        return float("nan")
    return number(value) * SCALE.get(rest[0] if rest else "", 1)


def tables_of(name: str) -> Tables:
    """Return the tables that a page quotes."""
    tables: Tables = {}
    for run in read(LESSONS / name).runs:
        for block in run.quoted.replace("```text\n", "").split("\n\n"):
            head, _, lines = re.sub(r"\n─+\n", "\0", block, count=1).partition("\0")
            if lines:
                cells = [re.split(r"\s{2,}", line.strip()) for line in lines.splitlines()]
                tables[head.strip().splitlines()[0]] = {
                    first: list(map(figure, rest)) for first, *rest in cells if rest
                }
    return tables


@pytest.mark.parametrize("path", lesson_paths(), ids=lambda path: path.stem)
def test_nothing_is_visibly_wrong(path: Path) -> None:
    assert written_wrong(read(path)) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_division_is_right(path: Path) -> None:
    for over, under, is_ms, result in DIVISION.findall(path.read_text("utf-8")):
        quotient = number(over) / number(under) * (1000 if is_ms else 1)
        assert number(result) == pytest.approx(quotient, rel=0.02), f"{over} / {under}{is_ms} = {result}"


def test_where_the_time_goes_agrees_with_its_formulas() -> None:
    text = (LESSONS / "01-where-the-time-goes.md").read_text("utf-8")
    tables = tables_of("01-where-the-time-goes.md")
    latency_ms, cost_ms = map(float, re.findall(r"L = (\d+) ms and c = ([\d.]+) ms", text)[0])
    page_ms = latency_ms + cost_ms
    knee = page_ms / cost_ms
    rates, costs = (tables[f"{title}, 1 ms CPU work"] for title in ("Pages per second", "CPU time per page"))

    assert f"{page_ms:g} / {cost_ms:g} = {knee:.0f} in flight" in text
    assert f"| 10 / {page_ms:g} ms = {10_000 / page_ms:.0f} |" in text
    assert f"| 1 / {cost_ms:g} ms = {1000 / cost_ms:.0f} |" in text
    assert list(rates) == list(costs) == [f"20 ms, {n} in flight" for n in (1, 10, 20, 50, 100)]
    for (line, (rate,)), (cost,) in zip(rates.items(), costs.values(), strict=True):
        in_flight = int(line.split()[2])
        if in_flight > 1:
            assert cost == pytest.approx(cost_ms / 1e3, rel=0.3), f"the CPU time per page of the text: {line}"
        if in_flight < knee / 1.5:
            assert rate == pytest.approx(in_flight / (latency_ms / 1e3 + cost), rel=0.1), (
                f"the limit of waiting: {line}"
            )
        if in_flight > knee * 1.5:
            assert rate == pytest.approx(1 / cost, rel=0.25), f"the limit of computing: {line}"


def test_cpu_work_agrees_with_its_formula() -> None:
    text = (LESSONS / "16-cpu-work-and-blocking-calls.md").read_text("utf-8")
    rates = tables_of("16-cpu-work-and-blocking-calls.md")["Pages per second, 5 ms CPU work"]
    expected = number(re.findall(r"About ([\d,]+) pages per second", text)[0])

    assert set(rates) == {"thread_pool", "native_asyncio"}
    assert f"1,000 / 5 = {expected:.0f}" in text
    for name, (rate,) in rates.items():
        assert rate == pytest.approx(expected, rel=0.25), name


def test_what_a_thread_costs_is_what_its_output_shows() -> None:
    lines = tables_of("02-what-a-thread-costs.md")["Memory per additional thread, task or fetch"]
    user, _, _, _, task, _ = lines["asyncio_task"][:6]
    in_user, _, _, _, thread, resident = lines["thread"][:6]

    assert user > 0.9 * task, "nearly all of a task is user memory"
    assert thread == pytest.approx(40 * task, rel=0.25), "about 40 times as much"
    assert thread > 2 * max(in_user, resident), "the figure of ps for a thread is too low"


def test_keep_alive_is_what_its_output_shows() -> None:
    tables = tables_of("14-keep-alive.md")
    kept, anew = (tables[f"CPU time per page, {how} connections"] for how in ("keep-alive", "per-fetch"))

    for name in ("callbacks", "thread_pool"):
        assert 2.5 < anew[name][0] / kept[name][0] < 6.5, "three to six times the CPU time"


def test_when_async_does_not_help_is_what_its_output_shows() -> None:
    tables = tables_of("17-when-async-does-not-help.md")
    costs, rates = tables["CPU time per page"], tables["Pages per second"]
    models = {"thread_pool", "native_asyncio"}

    assert set(rates) == set(costs) == models | {"sequential"}
    assert rates["native_asyncio"][0] < rates["sequential"][0], "asyncio is slower than a loop"
    assert rates["native_asyncio"][1] < rates["thread_pool"][1], "and slower than threads"
    assert costs["native_asyncio"][0] > costs["sequential"][0]
    for name in models:
        assert rates[name][0] < rates[name][1], "the figures rise with ten in flight"
        assert rates[name][1] < 1.2 / costs[name][1], "the limit of one core"


def test_c10k_is_what_its_output_shows() -> None:
    (line,) = tables_of("18-c10k.md")["Held in flight at once"].values()
    held, *_, each, _, _, failed = line
    task = tables_of("02-what-a-thread-costs.md")["Memory per additional thread, task or fetch"]["asyncio_task"][4]

    assert (held, failed) == (10_000, 0)
    assert each == pytest.approx(15e3, rel=0.25)
    assert each > 10 * task


def test_what_https_costs_is_what_its_output_shows() -> None:
    tables = tables_of("20-what-https-costs.md")
    over_tls = tables["Memory per additional thread, task or fetch, keep-alive connections over TLS"]
    kept, anew = (tables[f"CPU time per page without TLS and over it, {how}"] for how in ("blocks", "whole crawls"))

    assert over_tls["thread_pool"][4] == pytest.approx(over_tls["native_asyncio"][4] / 3, rel=0.25), "a third"
    for name, (plain, tls) in kept.items():
        new_plain, new_tls = anew[name]
        assert tls / plain == pytest.approx(1.4, rel=0.25), name
        assert new_tls - new_plain > 12 * plain, "a handshake is worth dozens of pages"
