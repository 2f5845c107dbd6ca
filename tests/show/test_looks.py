"""A name has one colour and one marker in every plot and race, whatever the other names and their order."""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from inflight import strategies
from inflight.bench.race import page as race
from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from inflight.bench.show import looks as all_looks
from inflight.bench.show import pictures
from inflight.bench.show.studies import Studies
from tests.made_rows import crawl_row, held_row
from tests.race.made_races import runner

NAMES = ("callbacks", "generators", "native_asyncio", "thread_pool", "aiohttp_client", "my_own_client")
KNOWN = [name for row in all_looks.ROWS for name in row.split() if name != all_looks.FREE]
SUBSETS = [*combinations(NAMES, 1), NAMES[:2], NAMES, NAMES[::-1]]


def crawls(names: Iterable[str]) -> list[Row]:
    return [
        crawl_row(name, latency="50ms", in_flight=cap, number=number, pages_per_s=100.0 * cap, times_ns=[5, 6] * 60)
        for name in names
        for cap in (1, 10, 100)
        for number in (1, 2)
    ]


def renamed(rows: Sequence[Row], names: Iterable[str]) -> list[Row]:
    return [changed(row, strategy=name) for name in names for row in rows]


def figures(rows: Sequence[Row]) -> list[Figure]:
    with pictures.settings():
        return [pictures.draw_sheet(picture) for picture in Studies(rows).pictures()]


def pairs_of(figure: Figure) -> set[tuple[str, str]]:
    """Return (colour, marker) of all marks that are drawn, and of those in legends."""
    lines = [line for line in figure.findobj(Line2D) if isinstance(line, Line2D)]
    return {(to_hex(str(line.get_markeredgecolor())), str(line.get_marker())) for line in lines}


PLOTS: dict[str, tuple[Callable[[Iterable[str]], list[Row]], Callable[[Sequence[Row]], list[Figure]]]] = {
    "crawls": (crawls, figures),
    "memory": (lambda names: [held_row(name, n) for name in names for n in (2000, 10_000)], figures),
    "held": (lambda names: [held_row(name) for name in names], figures),
}


@pytest.mark.ci
@pytest.mark.parametrize("kind", ["crawls", "memory"])
def test_the_look_of_a_name_does_not_depend_on_other_names(kind: str) -> None:
    make, draw = PLOTS[kind]
    looks = {name: (all_looks.look(name).colour, all_looks.look(name).marker) for name in NAMES}
    assert len(set(looks.values())) == len(NAMES)

    for names in SUBSETS:
        found = {pair for figure in draw(make(names)) for pair in pairs_of(figure)}
        shown = {name for name, look in looks.items() if look in found}
        assert shown == set(names)


@pytest.mark.parametrize("kind", PLOTS)
def test_long_names_stay_within_the_picture(kind: str) -> None:
    make, draw = PLOTS[kind]
    names = ["thread_pool_executor", 24 * "m", "callbacks"]

    for figure in draw(make(names)):
        figure.draw_without_rendering()
        whole = figure.get_tightbbox()
        assert min(whole.x0, whole.y0) >= 0
        assert whole.x1 <= figure.get_figwidth(), figure.texts[0].get_text()


def test_a_race_has_the_colours_of_the_plots() -> None:
    for names in SUBSETS[6:]:
        fragment = race.fragment([runner(name) for name in names])
        assert fragment is not None
        for name in names:
            number = all_looks.look(name).number
            assert f'"colour":{number}' in fragment.data.replace(" ", "")


def test_known_names_differ_in_colour_or_marker_and_the_first_eight_in_both() -> None:
    looks = [all_looks.look(name) for name in KNOWN]

    assert len(set(KNOWN)) == len(looks)
    assert len({(look.colour, look.marker) for look in looks}) == len(looks)
    assert len({look.colour for look in looks[:8]}) == len({look.marker for look in looks[:8]}) == 8


def test_all_strategies_differ_in_colour_or_marker_and_those_of_one_colour_in_marker_and_line_style() -> None:
    looks = {name: all_looks.look(name) for name in strategies.names()}

    assert set(looks) <= set(KNOWN)
    for one, other in combinations(looks.values(), 2):
        assert one.number != other.number or (one.marker != other.marker and one.dashes != other.dashes)


def test_a_variant_has_the_colour_of_its_strategy() -> None:
    variants = {name: found for name in strategies.names() if (found := strategies.describe(name).variant_of)}

    assert variants
    assert all(all_looks.look(name).number == all_looks.look(model).number for name, model in variants.items())


def test_the_look_of_a_name_never_changes() -> None:
    """Pictures that are years apart can be compared: a change of the table must not move a name."""
    told = {name: (all_looks.look(name).colour, all_looks.look(name).marker) for name in NAMES}

    assert told == {
        "callbacks": ("#0072b2", "o"),
        "generators": ("#d55e00", "s"),
        "native_asyncio": ("#009e73", "D"),
        "thread_pool": ("#cc79a7", "^"),
        "aiohttp_client": ("#e69f00", "v"),
        "my_own_client": told["my_own_client"],
    }
    assert told["my_own_client"][1] in all_looks.OTHER_MARKERS


def test_unknown_names_are_distributed_over_colours_and_markers() -> None:
    looks = {(look.colour, look.marker) for look in (all_looks.look(f"client_{n}") for n in range(400))}

    assert len(looks) == len(all_looks.COLOURS) * len(all_looks.OTHER_MARKERS)


def test_no_two_names_of_a_plot_have_the_same_colour_and_marker() -> None:
    by_look: dict[tuple[int, str], list[str]] = {}
    for name in (f"client_{n}" for n in range(400)):
        by_look.setdefault((all_looks.look(name).number, all_looks.look(name).marker), []).append(name)
    alike = max(by_look.values(), key=len)[: len(all_looks.OTHER_MARKERS)]

    looks = all_looks.looks([*alike, "callbacks", "generators"])
    again = all_looks.looks(["generators", *reversed(alike), "callbacks"])

    assert looks == again
    assert len({(look.colour, look.marker) for look in looks.values()}) == len(looks) == 7
    assert looks["callbacks"] == all_looks.look("callbacks")
    assert looks[min(alike)] == all_looks.look(min(alike))


def test_a_name_that_begins_with_a_known_one_has_its_colour() -> None:
    first, second = all_looks.look("callbacks 3.11.7"), all_looks.look("callbacks 3.13.0")

    assert first.colour == second.colour == all_looks.look("callbacks").colour
    assert first != all_looks.look("callbacks") != second
