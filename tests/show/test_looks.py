"""A name has one colour and one marker in every plot and race, whatever the other names and their order."""

from itertools import combinations

from inflight import strategies
from inflight.bench.race import page as race
from inflight.bench.show import looks as all_looks
from tests.race.made_races import runner

NAMES = ("callbacks", "generators", "native_asyncio", "thread_pool", "aiohttp_client", "my_own_client")
KNOWN = [name for row in all_looks.ROWS for name in row.split() if name != all_looks.FREE]


def test_a_race_has_the_colours_of_the_plots() -> None:
    fragment = race.fragment([runner(name) for name in NAMES])

    assert fragment is not None
    for name in NAMES:
        assert f'"colour":{all_looks.look(name).number}' in fragment.data.replace(" ", "")


def test_known_names_differ_and_those_of_one_colour_do_so_in_marker_and_line_style() -> None:
    looks, ours = ([all_looks.look(name) for name in names] for names in (KNOWN, strategies.names()))

    assert set(strategies.names()) <= set(KNOWN)
    assert len({(look.colour, look.marker) for look in looks}) == len(set(KNOWN)) == len(looks)
    assert len({look.colour for look in looks[:8]}) == len({look.marker for look in looks[:8]}) == 8
    row_of = {name: number for number, row in enumerate(all_looks.ROWS) for name in row.split()}
    for (name, look), (other_name, other) in combinations(zip(strategies.names(), ours, strict=True), 2):
        is_near = abs(row_of[name] - row_of[other_name]) < len(all_looks.DASHES)
        assert look.number != other.number or look.marker != other.marker
        assert look.number != other.number or look.dashes != other.dashes or not is_near


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
