"""The two sides from the command line, or the sentence that refuses them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inflight import strategies
from inflight.bench.plan.arm import Arm
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.studies.compare.comparison import METRICS, Comparison, from_words
from inflight.fake_server.site import SiteConfig


def both(a: str = "callbacks", b: str = "generators", **options: Any) -> tuple[Arm, Arm]:
    found = from_words(a, b, **options)
    assert ((found.a.name, found.a.role), (found.b.name, found.b.role)) == (("A", "reference"), ("B", "compared"))
    return replace(found.a, name="", role="compared"), replace(found.b, name="")


def side(strategy: str, **options: Any) -> Arm:
    return Arm("", strategy, **options)


def refusal(a: str = "callbacks", b: str = "generators", **options: Any) -> str:
    with pytest.raises(ExperimentError) as caught:
        from_words(a, b, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def compared(**options: Any) -> Comparison:
    return from_words("callbacks", "generators", **options)


def test_a_side_is_a_strategy_of_the_working_tree() -> None:
    assert both() == (side("callbacks"), side("generators"))


def test_without_b_both_sides_are_one_strategy_and_an_option_makes_the_difference() -> None:
    found = from_words("callbacks", None, pythons=("python3.12", "python3.13"))

    assert (found.a.strategy, found.a.python) == ("callbacks", "python3.12")
    assert (found.b.strategy, found.b.python) == ("callbacks", "python3.13")
    with pytest.raises(ExperimentError, match="name a second side, or give an option twice"):
        from_words("callbacks", None, pythons=("python3.12",))


def test_the_revision_is_after_the_first_at_sign() -> None:
    assert both("callbacks@v1.2", "callbacks@HEAD@{1}") == (
        side("callbacks", revision="v1.2"),
        side("callbacks", revision="HEAD@{1}"),
    )


@pytest.mark.parametrize(
    ("option", "values", "key", "wanted"),
    [
        ("repositories", (Path("x"), Path("y")), "repository", (Path("x"), Path("y"))),
        ("pythons", ("p", "q"), "python", ("p", "q")),
        ("requirements", ("x==1 y", "z"), "requirements", (("x==1", "y"), ("z",))),
        ("settings", ("in_flight=10", "in_flight = 20"), "in_flight", (10, 20)),
        ("settings", ("connection=per-fetch", ""), "connection", ("per-fetch", "keep-alive")),
        ("settings", ("in_flight=7,connection=per-fetch", "in_flight=8"), "in_flight", (7, 8)),
        ("variables", ("X=1", "Y='a=b c' Z=2"), "variables", ({"X": "1"}, {"Y": "a=b c", "Z": "2"})),
        ("variables", ("X=", ""), "variables", ({"X": ""}, {})),
    ],
)
def test_an_option_given_once_is_for_both_sides_and_given_twice_for_each(
    option: str, values: tuple[Any, Any], key: str, wanted: tuple[Any, Any]
) -> None:
    first: dict[str, Any] = {option: values[:1]}
    once, twice = both(**first), both(**first | {option: values})

    assert [getattr(one, key) for one in once] == [wanted[0], wanted[0]]
    assert [getattr(one, key) for one in twice] == list(wanted)


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("repositories", "--repo"),
        ("pythons", "--python"),
        ("requirements", "--with"),
        ("settings", "--set"),
        ("variables", "--env"),
    ],
)
def test_an_option_given_three_times_is_refused(option: str, name: str) -> None:
    given: dict[str, Any] = {option: ("a=1", "a=2", "a=3")}

    assert refusal(**given) == (f"{name} may be given once, for both sides, or twice, for A and for B; not 3 times")


@pytest.mark.parametrize(
    ("side", "sentence"),
    [
        ("", "a side must be STRATEGY or STRATEGY@REVISION, not ''"),
        ("@x", "a side must be STRATEGY or STRATEGY@REVISION, not '@x'"),
        ("@", "a side must be STRATEGY or STRATEGY@REVISION, not '@'"),
        ("callbacks@", "callbacks@ has no revision"),
        ("callbacks@-x", "'-x' is not a git revision"),
        ("callbacks@--output=x", "'--output=x' is not a git revision"),
    ],
)
def test_an_invalid_side_is_refused_as_a_and_as_b(side: str, sentence: str) -> None:
    assert refusal(a=side) == refusal(b=side) == sentence


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"settings": ("in_flight",)}, "--set takes NAME=VALUE, not 'in_flight'"),
        ({"settings": ("in_fligth=3",)}, "--set: unknown setting 'in_fligth'; did you mean \"in_flight\"?"),
        ({"settings": ("=3",)}, "--set: unknown setting ''; known: in_flight, connection"),
        ({"settings": ("in_flight=",)}, "--set in_flight takes a whole number, not ''"),
        ({"settings": ("in_flight=ten",)}, "--set in_flight takes a whole number, not 'ten'"),
        ({"settings": ("in_flight=-1",)}, "--set in_flight takes a whole number, not '-1'"),
        ({"settings": ("in_flight=1.5",)}, "--set in_flight takes a whole number, not '1.5'"),
        ({"settings": ("in_flight=0",)}, "--set in_flight must be a whole number from 1 to 1000000, not 0"),
        ({"settings": ("in_flight=1000001",)}, "--set in_flight must be a whole number from 1 to 1000000, not 1000001"),
        ({"settings": ("connection=tls",)}, "--set: unknown connection use 'tls'; known: keep-alive, per-fetch"),
        ({"variables": ("X",)}, "--env takes NAME=VALUE, not 'X'"),
        ({"variables": ("=1",)}, "--env takes NAME=VALUE, not '=1'"),
        ({"variables": ("A B=1",)}, "--env takes NAME=VALUE, not 'A'"),
        ({"variables": ("A='",)}, "--env: No closing quotation"),
        ({"variables": ("1A=1",)}, "--env takes NAME=VALUE, not '1A=1'"),
        (
            {"variables": ("PYTHONPATH=/x",)},
            "--env cannot set PYTHONPATH, which would hide the harness; use --repo for other strategies",
        ),
        ({"requirements": ("-r x",)}, "--with takes requirements such as aiohttp==3.11, not '-r'"),
        (
            {"requirements": ("x --index-url=y",)},
            "--with takes requirements such as aiohttp==3.11, not '--index-url=y'",
        ),
        ({"metrics": ("cpu",)}, "--metric: unknown metric 'cpu'; known: cpu_per_page, throughput, memory"),
        ({"metrics": ("memory", "memroy")}, "--metric: unknown metric 'memroy'; did you mean \"memory\"?"),
    ],
    ids=str,
)
def test_each_refusal_is_one_sentence(options: dict[str, Any], sentence: str) -> None:
    assert refusal(**options) == sentence


def test_a_number_of_many_thousand_digits_is_refused_like_any_other() -> None:
    assert refusal(settings=("in_flight=" + "9" * 9999,)).startswith("--set in_flight takes a whole number, not '999")


def test_an_invalid_latency_is_refused_with_the_name_of_its_option() -> None:
    assert refusal(latency="soon").startswith("--latency: ")


def test_a_strategy_may_be_compared_with_itself() -> None:
    a, b = both("callbacks", "callbacks", settings=("in_flight=10",))

    assert a == b


@pytest.mark.parametrize(
    "options",
    [
        {"settings": ("in_flight=100", "in_flight=0100")},
        {"settings": ("in_flight=100", "connection=keep-alive")},
        {"requirements": ("x==1", " x==1 ")},
    ],
    ids=str,
)
def test_equal_sides_that_are_written_differently_are_refused(options: dict[str, Any]) -> None:
    assert refusal("callbacks", "callbacks", **options) == (
        "both sides are the same, although they are written differently; name two different sides"
    )


def test_metrics_are_all_or_the_named_ones_in_a_fixed_order() -> None:
    assert compared().metrics == METRICS
    assert compared(metrics=("memory", "cpu_per_page", "memory")).metrics == ("cpu_per_page", "memory")


def test_the_site_has_the_requested_links_and_the_normalized_latency() -> None:
    assert compared(latency="0.05s", links=3).site == SiteConfig(delay="50ms", links=3)


def test_a_label_has_only_settings_that_are_not_the_default() -> None:
    assert side("callbacks").label == "callbacks"
    assert side("callbacks", revision="v1", in_flight=100).label == "callbacks@v1"
    assert side("a", python="p", requirements=("x==1",), in_flight=7, connection="per-fetch").label == (
        "a (p, x==1, in_flight=7, per-fetch)"
    )
    assert side("a", repository=Path("/r"), variables={"X": "1"}).label == "a (/r, X=1)"


def test_an_arm_in_a_row_leaves_out_defaults() -> None:
    assert compared().a.to_dict() == {
        "name": "A", "strategy": "callbacks", "role": "reference", "label": "callbacks"
    }  # fmt: skip
    given = {"revision": "v1", "python": "p", "in_flight": 7, "connection": "per-fetch", "variables": {"X": "1"}}
    assert side("a", repository=Path("/r"), requirements=("x",), **given).to_dict() == {
        "name": "", "strategy": "a", "role": "compared", "repository": "/r", "requirements": ["x"],
        "label": "a@v1 (p, x, in_flight=7, per-fetch, X=1)",
    } | given  # fmt: skip


def test_a_block_of_a_comparison_has_b_between_two_measurements_of_a() -> None:
    block = compared(metrics=("cpu_per_page",)).block(3)

    assert [(arm.name, arm.strategy, arm.role) for arm in block.arms] == [
        ("A", "callbacks", "reference"),
        ("B", "generators", "compared"),
        ("A again", "callbacks", "placebo"),
    ]
    assert (block.id, block.round) == ("compare/ab/round=3", 3)
    assert block.trials[1].values["comparison"] == {
        "name": "ab", "metrics": ["cpu_per_page"], "gated": ["cpu_per_page"]
    }  # fmt: skip


@pytest.mark.parametrize(("number", "order"), [(1, "AABB"), (2, "BBAA")])
def test_memory_is_held_at_two_sizes_by_each_side_in_turn(number: int, order: str) -> None:
    described = dict.fromkeys("AB", strategies.describe("callbacks"))

    trials = compared().memory(number, described)

    assert "".join(name for name, _ in trials) == order
    assert len({trial.id for _, trial in trials}) == 4
    few, many = sorted({trial.workload.in_flight for _, trial in trials})
    assert few in range(200, 300)
    assert many in range(2000, 2500)
    assert {trial.values["arm"]["name"] for _, trial in trials} == {"A", "B"}
