"""The formula finds what it was made from, and the advice knows where it ends."""

import math
from collections.abc import Iterable
from dataclasses import replace

import pytest

from bench.analyse import cells as c
from bench.analyse.advice import MOST_OFF, Advice, Facts, advise, outside, surfaces
from bench.analyse.observed import Observed, Wanted, observed
from bench.analyse.stats import NoSlope, Slope
from bench.analyse.surface import NoSurface, Surface
from bench.analyse.verified import Verified, candidates, lost_by, verify, worst_off
from bench.present import advice as show
from bench.present.advice import Basis
from bench.rows import Row
from tests.made_rows import MS
from tests.map.made_maps import MODELS, map_row, map_rows, rate

LINES = {"callbacks": 240, "native_asyncio": 100, "thread_pool": 200}
HOSTILE = "x\x1b[31m\n" + "y" * 300


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return map_rows(noise=0.015, works=("0", "1ms", "10ms"))


@pytest.fixture(scope="module")
def fits(rows: list[Row]) -> list[Surface | NoSurface]:
    return surfaces(c.cells(rows))


def slope(per_fetch: float) -> Slope:
    return Slope(per_fetch, per_fetch * 0.98, per_fetch * 1.02, 1e7, True, 10, 5)


def of(fits: Iterable[Surface | NoSurface], name: str) -> Surface:
    found = next(one for one in fits if one.strategy == name)
    assert isinstance(found, Surface)
    return found


def long_crawl(name: str, wanted: Wanted) -> float:
    """Return what the made rows come from, of a crawl without an end."""
    cpu, besides, _ = MODELS[name]
    page = cpu + wanted.work_ns
    return min(wanted.in_flight / (wanted.latency_ns + besides + page), 1 / page) * 1e9


def test_the_fit_finds_the_parameters_that_the_rows_were_made_from(fits: list[Surface | NoSurface]) -> None:
    for name, (cpu, besides, start) in MODELS.items():
        found = of(fits, name)

        assert found.cpu_ns == pytest.approx(cpu, rel=0.05)
        assert found.besides_ns == pytest.approx(besides, rel=0.25)
        assert found.start_ns == pytest.approx(start, rel=0.25)
        assert found.growth == 0
        assert found.error < 0.05


@pytest.mark.parametrize(("in_flight", "pages"), [(1, 7), (10, 10), (10, 25), (100, 40), (100, 5000), (1000, 4000)])
def test_the_formula_of_a_whole_crawl_is_the_loop_with_constant_times(in_flight: int, pages: int) -> None:
    """One core serves workers in the order in which they come; each waits, then has the core for a page."""
    cpu, besides, start = MODELS["callbacks"]
    made = Surface("callbacks", cpu, besides, start, 0.0, False, (), (), ())
    latency, work = 5.0 * MS, 0.1 * MS
    ready = [latency + besides] * min(in_flight, pages)
    core = 0.0
    for page in range(pages):
        place = min(range(len(ready)), key=ready.__getitem__)
        core = max(core, ready[place]) + cpu + work
        ready[place] = core + latency + besides if page + len(ready) < pages else math.inf

    found = made.per_s(Wanted(latency, work, in_flight, pages))

    assert found == pytest.approx(pages / (core + start * min(in_flight, pages)) * 1e9, rel=1e-9)
    assert found == pytest.approx(rate(MODELS["callbacks"], latency, work, in_flight, pages))


def test_a_long_crawl_has_the_two_asymptotes_and_its_knee() -> None:
    made = Surface("a", 50_000, 150_000, 1e9, 0.0, False, (), (), ())

    assert made.per_s(Wanted(9.8 * MS, 0, 1)) == pytest.approx(100)
    assert made.per_s(Wanted(9.8 * MS, 0, 100_000)) == pytest.approx(20_000)
    assert made.knee(9.8 * MS, 0) == pytest.approx(200)
    assert made.full_below_ns(0, 200) == pytest.approx(9.8 * MS)


def test_a_cpu_time_that_grows_with_the_number_in_flight_is_found() -> None:
    plain = map_rows({"a": (20e3, 80e3, 1e3)}, noise=0.005)
    slower = []
    for row in plain:
        work = row.workload.get("cpu_ns", 0)
        number, pages = row.workload["in_flight"], row.workload["site"]["pages"]
        true = rate((20e3 * number**0.25, 80e3, 1e3), row.workload["mean_latency_ns"], work, number, pages)
        slower.append(replace(row, measured=row.measured | {"pages_per_s": true * (1 + 0.004 * (row.round - 2))}))

    (found,) = surfaces(c.cells(slower))

    assert isinstance(found, Surface)
    assert found.growth == pytest.approx(0.25, abs=0.03)
    assert found.knee(50 * MS, 0) < Surface("a", 20e3, 80e3, 1e3, 0.0, False, (), (), ()).knee(50 * MS, 0)


def test_what_the_formula_misses_in_a_region_is_corrected_by_its_neighbours() -> None:
    """Everything with much work is 15 % slower: no parameter of the formula says that."""
    rows = [
        replace(row, measured=row.measured | {"pages_per_s": row.measured["pages_per_s"] * 0.85})
        if row.workload["mean_latency_ns"] >= 50 * MS and row.workload.get("cpu_ns", 0) >= MS
        else row
        for row in map_rows({"a": MODELS["callbacks"]}, noise=0.005)
    ]

    (found,) = surfaces(c.cells(rows))

    assert isinstance(found, Surface)
    assert found.bent
    wanted = Wanted(80 * MS, 3 * MS, 50)
    assert found.per_s(wanted) < 0.95 * long_crawl("callbacks", wanted)


def test_the_work_that_was_measured_counts_and_not_what_was_asked_for() -> None:
    row = map_row("a", "0", "1ms", 10, 1, 600, 800.0, 1_200_000)

    (told,) = observed(c.cells([replace(row, measured=row.measured | {"work_ns": 1_200_000})]))

    assert told.at.work_ns == 1_200_000
    assert observed(c.cells([row]))[0].at.work_ns == MS


@pytest.mark.parametrize(
    ("latency_ms", "work_ms", "in_flight"),
    [(80, 2, 500), (5, 0, 50), (30, 0.3, 20), (150, 5, 60), (20, 0, 700), (0, 3, 30)],
)
def test_inside_of_the_map_the_expectation_is_within_ten_percent(
    fits: list[Surface | NoSurface], latency_ms: float, work_ms: float, in_flight: int
) -> None:
    wanted = Wanted(latency_ms * MS, work_ms * MS, in_flight)

    found = advise(fits, wanted, Facts(lines=LINES))

    assert found.advised is not None
    for one in found.expected:
        if not one.unknown:
            assert one.per_s == pytest.approx(long_crawl(one.strategy, wanted), rel=MOST_OFF)
            assert one.off <= MOST_OFF
            assert one.low < one.per_s <= one.high


@pytest.mark.parametrize(
    ("wanted", "far"),
    [
        (Wanted(400 * MS, 0, 100), False),
        (Wanted(401 * MS, 0, 100), True),
        (Wanted(50 * MS, 26 * MS, 100), True),
        (Wanted(50 * MS, 0, 2001), True),
        (Wanted(0, 0, 1), False),
    ],
)
def test_more_than_twice_outside_of_the_map_it_does_not_know(
    fits: list[Surface | NoSurface], wanted: Wanted, far: bool
) -> None:
    found = advise(fits, wanted, Facts(lines=LINES))

    assert bool(outside(of(fits, "callbacks").observed, wanted)) == far
    if far:
        assert found.advised is None
        assert "no measured workload" in found.why
        assert len(candidates(found)) == 2


def test_what_was_measured_need_not_be_a_rectangle() -> None:
    """A thousand in flight were measured without work, and ten with much: a thousand with much were not."""
    points = [
        Observed(Wanted(latency * MS, work * MS, cap), 1.0, None, 3, "0", "0")
        for latency in (0, 50)
        for work, cap in ((0, 1), (10, 1), (0, 1000))
    ]

    assert outside(points, Wanted(50 * MS, 10 * MS, 1000))
    assert not outside(points, Wanted(50 * MS, 10 * MS, 1))
    assert outside([point for point in points if point.at.latency_ns], Wanted(0, 0, 1))


def test_where_the_map_is_noisy_it_does_not_know() -> None:
    found = advise(surfaces(c.cells(map_rows(noise=0.25, rounds=2))), Wanted(30 * MS, 0, 50), Facts())

    assert found.advised is None
    assert "interval is ±" in found.why


def doubtful(fits: list[Surface | NoSurface], strategy: str) -> list[Surface | NoSurface]:
    """Return the formulas, one of which was far off wherever it could be checked."""
    return [
        replace(one, errors=tuple(0.5 for _ in one.errors))
        if isinstance(one, Surface) and one.strategy == strategy
        else one
        for one in fits
    ]


def test_a_strategy_that_is_not_known_keeps_no_other_from_being_advised(fits: list[Surface | NoSurface]) -> None:
    found = advise(doubtful(fits, "callbacks"), Wanted(200 * MS, 0, 50), Facts(lines=LINES))

    told = found.of("callbacks")
    assert told is not None
    assert told.unknown
    assert found.advised in {"native_asyncio", "thread_pool"}
    assert "callbacks" not in found.alike


def test_nothing_is_expected_beyond_what_no_client_can_exceed(fits: list[Surface | NoSurface]) -> None:
    for wanted, most in ((Wanted(200 * MS, 0, 50), 250.0), (Wanted(0, 10 * MS, 50), 100.0)):
        for one in advise(doubtful(fits, "callbacks"), wanted, Facts(lines=LINES)).expected:
            assert one.high <= max(most, one.per_s) * (1 + 1e-9)


def test_what_the_map_has_behind_at_that_very_workload_is_not_advised(fits: list[Surface | NoSurface]) -> None:
    wanted = Wanted(200 * MS, 0, 50)
    behind = Facts(behind=frozenset({"callbacks", "thread_pool"}), lines=LINES)

    found = advise(fits, wanted, behind)

    assert found.advised == "native_asyncio"
    assert found.alike == ("native_asyncio",)
    assert "the map itself has the others behind" in found.why


def test_a_strategy_that_cannot_have_so_many_is_not_advised(fits: list[Surface | NoSurface]) -> None:
    found = advise([of(fits, "callbacks")], Wanted(50 * MS, 0, 100), Facts(most_in_flight={"callbacks": 1}))

    assert found.advised is None
    assert "never has more than 1 in flight" in found.why


def test_no_core_is_expected_to_have_more_time_than_it_has(fits: list[Surface | NoSurface]) -> None:
    for one in advise(fits, Wanted(10 * MS, 0, 900), Facts(lines=LINES)).expected:
        assert one.per_s * one.cpu_per_page_ns <= 1e9 * (1 + 1e-9)


def test_a_measured_loss_is_told() -> None:
    first, other = Verified("a", 100.0, 95.0, 3, ""), Verified("b", 100.0, 108.0, 3, "")

    assert lost_by([first, other]) == pytest.approx(108 / 95 - 1)
    assert lost_by([other, first]) == 0
    assert "The choice was wrong: another one fetched 14 % more." in show.verified_text([first, other], "folder")


def test_alone_in_front_the_fastest_is_taken(fits: list[Surface | NoSurface]) -> None:
    found = advise(fits, Wanted(0, 0, 100), Facts(lines=LINES))

    assert found.advised == "callbacks"
    assert found.alike == ("callbacks",)
    assert found.expected[0].limit == "CPU"
    assert found.expected[0].core_share == pytest.approx(1, abs=0.1)


def test_of_several_alike_the_one_with_clearly_less_memory_is_taken(fits: list[Surface | NoSurface]) -> None:
    memory: dict[str, Slope | NoSlope] = {
        "callbacks": slope(1_500), "native_asyncio": slope(25_000), "thread_pool": slope(60_000),
    }  # fmt: skip

    found = advise(fits, Wanted(200 * MS, 0, 1000), Facts(memory=memory, lines=LINES))

    assert found.expected[0].limit == "latency"
    assert len(found.alike) > 1
    assert found.advised == "callbacks"
    assert "least memory" in found.why
    told = found.of("thread_pool")
    assert told is not None
    assert told.memory_bytes == 60_000_000


def test_of_several_alike_the_shortest_program_is_taken_where_memory_is_no_reason(
    fits: list[Surface | NoSurface],
) -> None:
    memory: dict[str, Slope | NoSlope] = {name: slope(2_000 * (n + 1)) for n, name in enumerate(MODELS)}
    wanted = Wanted(200 * MS, 0, 50)

    for facts in (Facts(lines=LINES), Facts(memory=memory, lines=LINES)):
        found = advise(fits, wanted, facts)
        assert (found.advised, len(found.alike)) == ("native_asyncio", 3)
        assert "shortest program" in found.why
    assert "highest throughput" in advise(fits, wanted, Facts()).why


def test_what_a_limit_forbids_is_left_out_and_said(fits: list[Surface | NoSurface]) -> None:
    found = advise(fits, Wanted(200 * MS, 0, 1000), Facts(forbidden={"thread_pool": "no more than 900 threads"}))

    assert found.left_out == {"thread_pool": "no more than 900 threads"}
    assert found.of("thread_pool") is None
    assert "thread_pool: not measured, no more than 900 threads." in show.notes(found, Basis("run"))


def test_a_model_with_one_in_flight_is_expected_to_have_one(rows: list[Row]) -> None:
    alone = [row for row in map_rows({"sequential": (18e3, 75e3, 1e3)}, noise=0.01) if row.workload["in_flight"] == 1]

    found = advise(surfaces(c.cells([*rows, *alone])), Wanted(50 * MS, 0, 100), Facts({"sequential": 1}, lines=LINES))

    one = found.of("sequential")
    assert one is not None
    assert one.in_flight == 1
    assert one.per_s == pytest.approx(20, rel=0.05)
    assert "sequential" not in [told.strategy for told in candidates(found)]


def test_with_one_in_flight_throughput_tells_what_waiting_and_cpu_time_take_together() -> None:
    rows = map_rows({"sequential": (18e3, 75e3, 1e3)}, caps=(1,), noise=0.01)

    fits = surfaces(c.cells(rows))

    (found,) = fits
    assert isinstance(found, Surface)
    assert found.cpu_ns + found.besides_ns == pytest.approx(93e3, rel=0.05)
    limits = [advise(fits, wanted, Facts()).expected[0].limit for wanted in (Wanted(0, 10 * MS, 1), Wanted(MS, 0, 1))]
    assert limits == ["CPU", "latency"]


def test_too_few_workloads_make_no_formula() -> None:
    (found,) = surfaces(c.cells(map_rows({"a": MODELS["callbacks"]}, latencies=("0",), works=("0",))))

    assert isinstance(found, NoSurface)
    assert found.reason == "needs 6 workloads with valid trials, has 4"
    told = advise([found], Wanted(0, 0, 1), Facts())
    assert (told.advised, told.why) == (None, "no strategy has enough valid trials")


def test_what_was_measured_says_how_far_off_the_advice_was(fits: list[Surface | NoSurface]) -> None:
    found = advise(fits, Wanted(50 * MS, 0, 10), Facts(lines=LINES))
    chosen = candidates(found)
    expected = chosen[0].surface.per_s(Wanted(50 * MS, 0, 10, 300))

    good = [map_row(one.strategy, "50ms", "0", 10, n, 300, expected * 0.98, 20_000) for one in chosen for n in (1, 2)]
    bad = [map_row(one.strategy, "50ms", "0", 10, n, 300, expected * 0.8, 20_000) for one in chosen for n in (1, 2)]

    near, far = verify(chosen, c.cells(good)), verify(chosen, c.cells(bad))
    assert chosen[0].strategy == found.advised
    assert worst_off(near) == pytest.approx(0.02, abs=0.01)
    assert (worst_off(far) or 0) > MOST_OFF
    assert "The advice holds" in show.verified_text(near, "folder")
    assert "The advice was wrong by" in show.verified_text(far, "folder")
    assert "it does not know this region" in show.verified_text(far, "folder")


def test_a_verification_without_a_valid_trial_verifies_nothing(fits: list[Surface | NoSurface]) -> None:
    chosen = candidates(advise(fits, Wanted(50 * MS, 0, 10), Facts()))
    red = [map_row(chosen[0].strategy, "50ms", "0", 10, 1, 300, 190.0, 20_000, red=True)]

    found = verify(chosen, c.cells(red))

    assert [one.why for one in found] == ['no valid trial (red: "server had room")', "no valid trial (not run)"]
    assert worst_off(found) is None
    assert "could not be verified" in show.verified_text(found, "folder")
    assert worst_off([]) is None


def shown(found: Advice, basis: Basis) -> str:
    return " ".join(show.text(found, basis).split())


def test_the_text_says_what_to_take_why_and_how_sure(fits: list[Surface | NoSurface]) -> None:
    found = advise(fits, Wanted(80 * MS, 2 * MS, 500), Facts(lines=LINES))

    text = shown(found, Basis("results/a-map"))

    assert text.startswith(f"Take {found.advised} for 80 ms latency, 2 ms CPU work of a page, 500 in flight")
    assert f"{len(found.alike)} are within the interval of the fastest; of these it has the shortest program." in text
    assert "CPU 41" in text
    assert f"Measured nearest, {found.advised}: 50 ms, 1 ms CPU work, 1,000 in flight" in text
    assert "Memory: not measured on this machine" in text


def test_the_text_says_that_it_does_not_know_and_what_to_do(fits: list[Surface | NoSurface]) -> None:
    basis = Basis("results/a-map", ("cpu Other 1, here Imaginary 9000",), "results/a-memory")
    text = shown(advise(fits, Wanted(5000 * MS, 0, 10), Facts()), basis)

    assert text.startswith("I do not know what to take for 5 s latency, no CPU work, 10 in flight")
    assert "--verify measures that very workload" in text
    assert "That run is of another machine: cpu Other 1, here Imaginary 9000." in text
    assert "a-memory" in text


def test_hostile_names_are_made_harmless() -> None:
    fits = surfaces(c.cells(map_rows({HOSTILE: MODELS["callbacks"], "b": MODELS["thread_pool"]})))
    text = show.text(advise(fits, Wanted(0, 0, 100), Facts()), Basis(HOSTILE))

    assert "\x1b" not in text
    assert max(map(len, text.splitlines()[:-2])) <= show.WIDTH  # the last two are paths, for copying
