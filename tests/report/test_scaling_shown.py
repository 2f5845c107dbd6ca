"""The study of scaling: what it compares, from which CPU work on a model uses the cores, and its plot."""

import pytest

from inflight.bench.present import page
from inflight.bench.present.section import markdown, text
from inflight.bench.report import studies
from inflight.bench.rows.files import Row
from inflight.bench.studies.scaling import plot, read, show
from tests.made_rows import arm_row, edited

WORKS = ("0", "1ms")
GAINS = {"process_pool": (0.8, 1.9), "callbacks": (1.02, 0.99)}
"""Strategy -> its pages per second on two cores over one, without CPU work and with it."""


def rows(interpreter: str = "", shares: tuple[float, float] = (0.6, 0.02), blocks: int = 4) -> list[Row]:
    """Return blocks of two strategies with one core and with two; the second core is also the server's."""
    found = []
    for number in range(1, blocks + 1):
        for place, work in enumerate(WORKS):
            for strategy, gains in GAINS.items():
                for cores in (1, 2):
                    rate = 1000.0 * (1 + 0.01 * number) * (gains[place] if cores == 2 else 1)
                    found.append(_row(strategy, interpreter, cores, number, work, rate * (1 + 0.001 * number % 2)))
                    if cores == 2:
                        beside = {"measured": {"beside_server": True}, "server": {"cpu_share": shares[place]}}
                        found[-1] = edited(found[-1], **beside)
            again = _row("callbacks", interpreter, 1, number, work, 1000.0 * (1 + 0.01 * number), "placebo")
            found.append(again)
    return found


def _row(strategy: str, interpreter: str, cores: int, number: int, work: str, rate: float, role: str = "") -> Row:
    name = " ".join(filter(None, [strategy, interpreter])) + (f" (cores={cores})" if cores > 1 else "")
    asked = {"strategy": strategy, "interpreter": interpreter, "cores": cores}
    row = arm_row(
        f"{name} again" if role else name,
        number=number,
        work=work,
        in_flight=10,
        pages_per_s=rate,
        role="placebo" if role else "reference" if (strategy, cores) == ("callbacks", 1) else "compared",
        asked={key: value for key, value in asked.items() if value and (key, value) != ("cores", 1)},
    )
    return edited(row, measured={"pss_bytes": 10_000_000 * cores})


def test_a_speed_up_compares_a_strategy_with_itself_on_one_core() -> None:
    (found,) = read.scalings(rows())

    assert found.cores == (1, 2)
    assert found.series == (("process_pool", ""), ("callbacks", ""))
    assert [work.cpu for work in found.works] == list(WORKS)
    ratio = found.works[1].speed_up(("process_pool", ""), 2, 1)
    assert ratio is not None
    assert ratio.estimate == pytest.approx(1.9, rel=1e-3)


def test_a_strategy_uses_the_cores_from_the_least_work_with_a_sure_gain_on() -> None:
    (found,) = read.scalings(rows())

    first = found.gains_from(("process_pool", ""))

    assert first is not None
    assert first.cpu == "1ms"
    assert found.gains_from(("callbacks", "")) is None


def test_the_placebo_is_the_reference_over_itself() -> None:
    (found,) = read.scalings(rows())

    for work in found.works:
        assert work.placebo is not None
        assert work.placebo.estimate == pytest.approx(1, abs=0.01)


def test_the_title_says_which_model_gains_and_from_which_work_on() -> None:
    (found,) = read.scalings(rows())

    assert show.title(found) == (
        "Pages per second on 2 cores compared with 1: process_pool up to 1.90x with 1 ms of CPU work per page or more"
    )


def test_the_section_says_that_the_server_shared_the_last_core() -> None:
    (section,) = show.sections(rows())

    shown = " ".join(str(text(section, 120)).split())
    assert "60 % at no CPU work, 2 % at 1 ms of CPU work" in shown
    assert "1.90x" in shown
    assert "Placebo, the reference compared with itself: " in shown
    assert "20.0 MB" in markdown(section)


def test_a_server_with_a_core_of_its_own_is_not_mentioned() -> None:
    alone = [edited(row, measured={"beside_server": None}) for row in rows()]
    (found,) = read.scalings(alone)

    assert show.about_server(found) == ""


def test_the_figures_have_one_object_for_each_number_of_cores() -> None:
    found = show.figures(rows())

    assert len(found) == len(WORKS) * len(GAINS) * 2
    (one,) = [each for each in found if (each["strategy"], each["cpu"], each["cores"]) == ("process_pool", "1ms", 2)]
    assert one["efficiency"] == pytest.approx(0.95, rel=1e-3)
    assert one["memory_bytes"] == pytest.approx(20_000_000)
    assert one["speed_up"]["blocks"] == 4


def test_runs_with_one_number_of_cores_have_no_such_section() -> None:
    one = [row for row in rows() if row.workload.arm.cores is None]

    assert show.sections(one) == []
    assert show.figures(one) == []


def test_interpreters_have_speed_ups_of_their_own_and_are_compared_on_one_core() -> None:
    both = [*rows("3.11"), *rows("3.14")]
    (found,) = read.scalings(both)

    assert {label for _, label in found.series} == {"3.11", "3.14"}
    assert found.interpreters == ("3.11", "3.14")
    assert show.title(found).count("process_pool up to 1.90x") == 2
    assert any("compared with" in section.title for section in studies.sections(both))


def test_the_plot_has_a_panel_for_each_interpreter() -> None:
    with page.settings():
        drawn = dict(plot.plots([*rows("3.11"), *rows("3.14")], {}, "footer"))
        assert drawn["scaling"] is not None
        assert len(drawn["scaling"].axes) == 2
        assert list(plot.plots([row for row in rows() if row.workload.arm.cores is None], {}, "")) == []


def test_an_interval_that_leaves_the_plot_is_told() -> None:
    noisy = [_row("process_pool", "", cores, number, "1ms", 1000.0 * (8.0 if cores == number == 2 else 1))
             for cores in (1, 2) for number in (1, 2, 3)]  # fmt: skip
    with page.settings():
        calm, wild = (dict(plot.plots(own, {}, "footer"))["scaling"] for own in (rows(), [*rows(blocks=3), *noisy]))

    assert calm is not None
    assert wild is not None
    told = [" ".join(text.get_text() for text in sheet.texts).replace("\n", " ") for sheet in (calm, wild)]
    assert ["beyond the plot" in one for one in told] == [False, True]
