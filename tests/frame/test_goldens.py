"""The frame gives the figures of the reading half that it replaces, for every stored run.

``goldens.csv.xz`` has them as the code before the frame computed them: run, study, keys, estimate, low, high, n.
"""

from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from inflight.bench.frame import slopes
from inflight.bench.frame.contrast import contrast, summary
from inflight.bench.frame.frame import TIMED, frame, trials
from inflight.bench.rows.files import read

RESULTS = Path(__file__).parents[2] / "results"
NUMBERS = ["estimate", "low", "high", "n"]
GOLDENS = pd.read_csv(Path(__file__).with_name("goldens.csv.xz"), dtype={"keys": str, "valid": str})
RUNS = sorted(set(GOLDENS["run"]))
WORKLOAD = ("kind", "site", "connection", "cpu", "cpu_ns", "latency", "latency_ns", "in_flight", "length")
"""The columns in which the lines of one workload are equal. ``crawl`` and ``arm`` are timed differently."""
CLAIMS = next(run for run in RUNS if run.endswith("-claims"))
LOST = ["generators", "native_asyncio", "thread_pool"]
"""Arms of one workload of three claims, of whose blocks the old code kept one of each number."""


@cache
def lines(run: str) -> pd.DataFrame:
    return frame(read(next(RESULTS.glob(f"*/{run}"))))


def timed(run: str, figure: str) -> pd.DataFrame:
    own = lines(run)
    return own[own["kind"].isin(TIMED) & (own["figure"] == figure) & (own["comparison"] == "")]


def golden(run: str, study: str, keys: int) -> pd.DataFrame:
    """Return the old figures by the first ``keys`` parts of their keys."""
    own = GOLDENS[(GOLDENS["run"] == run) & (GOLDENS["study"] == study)]
    return own.assign(keys=own["keys"].str.split("|").str[:keys].str.join("|")).set_index("keys")[NUMBERS].sort_index()


def keyed(found: pd.DataFrame, *keys: str) -> pd.DataFrame:
    names = ["|".join(map(str, key)) for key in found[list(keys)].itertuples(index=False)]
    return found.set_axis(names)[NUMBERS].sort_index()


def assert_equal(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    """Compare two tables; a single unit has no interval."""
    for one in (found, expected):
        one.loc[one["n"] == 1, ["low", "high"]] = float("nan")
    pd.testing.assert_frame_equal(
        found.astype(float), expected.astype(float), rtol=1e-9, check_names=False, check_index_type=False
    )


def first_ids(found: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """Name each group by the workload of its first line."""
    by = [*WORKLOAD, "arm"]
    return found.merge(own.groupby(by, sort=False)["workload"].first().reset_index(), on=by)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("figure", ["pages_per_s", "cpu_per_page_ns"])
def test_means_over_blocks(run: str, figure: str) -> None:
    own = timed(run, figure).query("role != 'placebo'")
    found = keyed(first_ids(summary(own, [*WORKLOAD, "arm"]), own), "workload", "arm")
    expected = golden(run, figure, 2)
    if run == CLAIMS:
        lost = [
            key
            for key in expected.index
            if key in {f"throughput-27/latency=0/in_flight=100/keep-alive|{one}" for one in LOST}
        ]
        assert len(lost) == len(LOST)
        assert (found.loc[lost, "n"] > expected.loc[lost, "n"]).all()
        found, expected = found.drop(lost), expected.drop(lost)
    assert_equal(found, expected)


@pytest.mark.parametrize("run", RUNS)
def test_ratios_to_the_reference_of_the_block(run: str) -> None:
    own = lines(run).query("kind == 'arm' and figure == 'cpu_per_page_ns'")
    found = contrast(own, "arm", "reference", ["workload", "reference"])
    again, compared = own[own["role"] == "placebo"]["arm"], own[own["comparison"] != ""]["arm"]
    ratios = found[~found["arm"].isin(again) & ~found["arm"].isin(compared)]
    assert_equal(keyed(ratios, "workload", "arm"), golden(run, "ratio", 2))
    first = golden(run, "again", 1)
    alone = found[found["arm"].isin(again) & found["workload"].isin(first.index)].head(len(first))
    assert_equal(keyed(alone, "workload"), first)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    ("study", "figure"), [("interpreters cpu_per_page", "cpu_per_page_ns"), ("interpreters pages_per_s", "pages_per_s")]
)
def test_ratios_to_the_first_interpreter(run: str, study: str, figure: str) -> None:
    own = timed(run, figure).query("cores == 1 and role != 'placebo' and interpreter != ''")
    first = own[own["role"] == "reference"]["interpreter"].head(1).to_list() or [""]
    found = contrast(own, "interpreter", first[0], ["workload", "strategy"])
    assert_equal(keyed(found, "workload", "strategy", "interpreter"), golden(run, study, 3))


@pytest.mark.parametrize("run", [run for run in RUNS if run.endswith("-scaling")])
def test_speed_ups_on_more_cores(run: str) -> None:
    own = timed(run, "pages_per_s").query("role != 'placebo'")
    found = contrast(own, "cores", 1, [*WORKLOAD, "strategy", "interpreter"])
    keys = ("strategy", "interpreter", "cpu", "latency", "in_flight", "cores")
    expected = golden(run, "speed-up", 6)
    assert_equal(keyed(found, *keys), expected[~expected.index.str.endswith("|1")])


@pytest.mark.parametrize("run", RUNS)
def test_median_lateness_of_a_timer(run: str) -> None:
    own = timed(run, "lag_p50_ns").query("role != 'placebo'")
    assert_equal(keyed(first_ids(summary(own, [*WORKLOAD, "arm"]), own), "workload", "arm"), golden(run, "lag p50", 2))


OLD_GROUPS = slopes.GROUPS | {"idle": "building blocks"}


@pytest.mark.parametrize("run", sorted(set(GOLDENS[GOLDENS["study"] == "slope"]["run"])))
def test_slopes_of_memory(run: str) -> None:
    """The old code made one slope of trials with and without environment variables."""
    lines = slopes.slopes(slopes.layers(trials(read(next(RESULTS.glob(f"*/{run}"))))))
    lines = lines[lines["reason"] == ""].assign(
        group=lines["group"].map(OLD_GROUPS),
        connection=lines["connection"].where(lines["group"] != "idle", "None"),
        layer=lines["layer"].replace(slopes.RSS, "resident"),
        n=lines["sizes"],
    )
    found, expected = keyed(lines, "group", "arm", "connection", "layer"), golden(run, "slope", 4)
    if run == CLAIMS:
        merged = r"\|thread(?:_pool)?(?: \(MALLOC_ARENA_MAX=\d\))?\|"
        found, expected = (one[~one.index.str.contains(merged)] for one in (found, expected))

    assert_equal(found, expected)
