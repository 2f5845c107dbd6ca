"""The two sides from the command line, or the sentence that refuses them; the blocks and trials of a comparison."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs, to_builtins

from inflight import strategies
from inflight.bench.plan.comparison import METRICS, Comparison, from_words
from inflight.bench.plan.trial import row_trials
from inflight.bench.rows.kinds import Arm
from inflight.fake_server.site import SiteConfig


def both(a: str = "callbacks", b: str | None = "generators", **options: Any) -> tuple[Arm, Arm]:
    found = from_words(a, b, **options)
    assert ((found.a.name, found.a.role), (found.b.name, found.b.role)) == (("A", "reference"), ("B", "compared"))
    return structs.replace(found.a, name="", role="compared"), structs.replace(found.b, name="")


def side(strategy: str, **options: Any) -> Arm:
    return Arm("", strategy, "compared", **options)


def compared(**options: Any) -> Comparison:
    return from_words("callbacks", "generators", **options)


def test_a_side_is_a_strategy_of_the_working_tree_or_of_a_revision_after_the_first_at_sign() -> None:
    assert both() == (side("callbacks"), side("generators"))
    assert both("callbacks@v1.2", "callbacks@HEAD@{1}") == (
        side("callbacks", revision="v1.2"),
        side("callbacks", revision="HEAD@{1}"),
    )


def test_without_b_both_sides_are_one_strategy_and_a_setting_makes_the_difference() -> None:
    assert both(b=None, of_b=["python=python3.13"]) == (side("callbacks"), side("callbacks", python="python3.13"))


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["repo=x"], "repository", "x"),
        (["python=p"], "python", "p"),
        (["with=x==1", "with=y"], "requirements", ("x==1", "y")),
        (["in_flight=10"], "in_flight", 10),
        (["connection=per-fetch"], "connection", "per-fetch"),
        (["env=Y=a=b c", "env=Z="], "variables", {"Y": "a=b c", "Z": ""}),
    ],
)
def test_a_setting_is_of_one_side_or_of_both(words: list[str], key: str, value: Any) -> None:
    settings = [("--x", *word.split("=", 1)) for word in words]
    changed, plain = side("callbacks", **{key: value}), side("callbacks")

    assert both("callbacks", "callbacks", of_a=words) == (changed, plain)
    assert both("callbacks", "callbacks", of_b=words) == (plain, changed)
    assert both("callbacks", "callbacks", both=settings) == (changed, changed)


def test_a_setting_of_one_side_overrides_that_of_both_and_variables_add_up() -> None:
    settings = [("--in-flight", "in_flight", "10"), ("--env", "env", "X=1")]

    a, b = both(both=settings, of_b=["in_flight=20", "env=Y=2"])

    assert (a.in_flight, a.variables) == (10, {"X": "1"})
    assert (b.in_flight, b.variables) == (20, {"X": "1", "Y": "2"})


def test_metrics_are_all_or_the_named_ones_in_a_fixed_order() -> None:
    assert compared().metrics == METRICS
    assert compared(metrics=("memory", "cpu_per_page", "memory")).metrics == ("cpu_per_page", "memory")


def test_the_site_has_the_requested_links_and_the_normalized_latency() -> None:
    assert compared(latency="0.05s", links=3).site == SiteConfig(delay="50ms", links=3)


def test_a_label_and_a_row_have_only_settings_that_are_not_the_default() -> None:
    given: dict[str, Any] = {"python": "p", "in_flight": 7, "connection": "per-fetch", "variables": {"X": "1"}}
    full = side("a", repository="/r", requirements=("x",), revision="v1", **given)

    assert to_builtins(compared().a) == {
        "name": "A", "strategy": "callbacks", "role": "reference", "label": "callbacks"
    }  # fmt: skip
    assert to_builtins(full) == {
        "name": "", "strategy": "a", "role": "compared", "repository": "/r", "requirements": ("x",), "revision": "v1",
        "label": "a@v1 (p, x, in_flight=7, per-fetch, X=1)",
    } | given  # fmt: skip


def test_a_block_of_a_comparison_has_b_between_two_measurements_of_a() -> None:
    block = compared(metrics=("cpu_per_page",)).block(3)

    assert [(arm.name, arm.strategy, arm.role) for arm in block.arms] == [
        ("A", "callbacks", "reference"),
        ("B", "generators", "compared"),
        ("A again", "callbacks", "placebo"),
    ]
    assert (block.id, block.round, block.cycles) == ("compare/ab/round=3", 3, 12)
    assert compared(latency="50ms").block(1).cycles == 2
    assert to_builtins(row_trials(block)[1].workload.comparison) == {
        "name": "ab", "metrics": ["cpu_per_page"], "gated": ["cpu_per_page"]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("number", "order", "b", "most"), [(1, "AABB", "callbacks", 6400), (2, "BBAA", "thread_pool", 3200)]
)
def test_memory_is_held_at_two_sizes_by_each_side_in_turn(number: int, order: str, b: str, most: int) -> None:
    models = {"A": strategies.describe("callbacks"), "B": strategies.describe(b)}
    trials = replace(compared(), models=models).memory(number)

    assert "".join(trial.name for trial in trials) == order
    assert len({trial.id for trial in trials}) == 4
    few, many = sorted({trial.workload.in_flight for trial in trials})
    assert few in range(200, 800)
    assert many in range(most // 2, most), "less where a thread waits for each fetch"
    assert {trial.workload.arm.name for trial in trials} == {"A", "B"}
