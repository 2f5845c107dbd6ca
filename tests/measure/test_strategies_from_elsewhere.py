"""Strategies from files, modules and installed distributions: how they are found, named, run and refused."""

import errno
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inflight import strategies
from inflight.bench.commands import listing
from inflight.bench.measure import run as runs
from inflight.bench.measure.blocks import sides
from inflight.bench.plan import experiment
from inflight.bench.plan.comparison import from_words
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.rows.files import EXPERIMENT_FILE
from inflight.strategies import registry
from tests.ab.repositories import arm, commit, git
from tests.cli.command import call

CLIENT = '''"""A client of its own: callbacks under another name."""

from inflight.strategies.callbacks import crawl

STACK = "shared"
REQUIRES = ()
'''
HELPED = CLIENT.replace("STACK", "from helper import WORD\n\nSTACK")
WITH_CLASS = '''"""Two clients in one module."""

from inflight.strategies.callbacks import crawl

REQUIRES = ()


class Fast:
    STACK = "own"
    crawl = staticmethod(crawl)


STACK = "shared"
'''


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with a client; it is the current folder, and nothing is registered."""
    monkeypatch.setenv(registry.VARIABLE, "")
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "project"
    (folder / "src" / "shop").mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    (folder / "src" / "shop" / "__init__.py").write_text("raise SystemExit('imported')\n", "utf-8")
    (folder / "src" / "shop" / "bench.py").write_text(WITH_CLASS, "utf-8")
    (folder / "client.py").write_text(CLIENT, "utf-8")
    monkeypatch.chdir(folder)
    return folder


def test_a_file_is_named_by_its_stem_and_described_without_being_imported(project: Path) -> None:
    (project / "client.py").write_text(CLIENT + "raise SystemExit('imported')\n", "utf-8")

    assert strategies.add("./client.py") == "client"

    assert strategies.describe("client").model == "A client of its own: callbacks under another name."
    assert strategies.describe("client").group == strategies.ELSEWHERE
    assert strategies.names()[-1] == "client"
    assert "client" not in strategies.models()


@pytest.mark.parametrize("text", ["./client.py", "client.py", "../project/client.py"])
def test_the_same_file_has_one_name_however_it_is_written(text: str) -> None:
    strategies.add("./client.py")

    assert strategies.add(text) == "client"
    assert list(registry.registered()) == ["client"]


def test_files_of_one_name_are_told_apart_by_their_folders(project: Path) -> None:
    (project / "old").mkdir()
    for name in ("old/client.py", "callbacks.py"):
        (project / name).write_text(CLIENT, "utf-8")

    assert [strategies.add(name) for name in ("client.py", "old/client.py", "./callbacks.py")] == [
        "client", "old-client", "project-callbacks",
    ]  # fmt: skip


def test_a_module_is_described_without_importing_it_or_its_package() -> None:
    assert strategies.add("shop.bench:Fast") == "shop.bench:Fast"
    assert strategies.add("shop.bench") == "shop.bench"

    assert strategies.describe("shop.bench:Fast").stack == "own"
    assert strategies.describe("shop.bench").stack == "shared"


@pytest.mark.parametrize(
    "reference",
    [
        "shop.bench:Fast",
        "shop.bench:crawl",
        "shop.bench",
        "./client.py",
    ],
)
def test_what_is_loaded_has_the_contract(project: Path, reference: str) -> None:
    (project / "src" / "shop" / "__init__.py").write_text("", "utf-8")

    found = strategies.load(strategies.add(reference))

    assert found.crawl.__module__ == "inflight.strategies.callbacks"
    assert found.REQUIRES == ()
    for name in ("shop", "shop.bench"):
        sys.modules.pop(name, None)


def test_a_file_imports_what_is_beside_it_and_in_its_project(project: Path) -> None:
    (project / "bench").mkdir()
    (project / "bench" / "client.py").write_text(HELPED, "utf-8")
    (project / "src" / "helper.py").write_text("WORD = 1\n", "utf-8")

    assert strategies.load(strategies.add("bench/client.py")).STACK == "shared"


@pytest.mark.parametrize(
    ("reference", "sentence"),
    {
        "./nothing.py": "there is no file ./nothing.py",
        "./src": "there is no file ./src",
        "./empty.py:crawl": (
            "there is no file ./empty.py:crawl; empty.py exists: give the file alone, with a function crawl, "
            "or a module: mypkg.empty:crawl"
        ),
        "shop.nothing:x": "there is no module shop.nothing, neither in {project} nor among what is installed",
        "./empty.py": "{project}/empty.py is no strategy: has no 'STACK'; see strategies/base.py",
        "./wrong.py": (
            "{project}/wrong.py is no strategy: STACK is 'mine', and must be 'shared' or 'own'; see strategies/base.py"
        ),
    }.items(),
)
def test_what_is_no_strategy_is_refused_in_one_sentence(project: Path, reference: str, sentence: str) -> None:
    (project / "empty.py").touch()
    (project / "wrong.py").write_text(CLIENT.replace('"shared"', '"mine"'), "utf-8")

    with pytest.raises(ExperimentError) as caught:
        experiment.named(reference, "--strategy")

    assert str(caught.value) == f"--strategy: {sentence.format(project=project)}"


@pytest.mark.parametrize(
    ("constant", "sentence"),
    {
        "REQUIRES = (3, None)": "a tuple of names of distributions, such as ('aiohttp',)",
        "REQUIRES = 'aiohttp'": "a tuple of names of distributions, such as ('aiohttp',)",
        "CONFLICTS = ('',)": "a tuple of names of distributions, such as ('aiohttp',)",
        "STACK = []": "'shared' or 'own'",
        "MOST_IN_FLIGHT = 0": "a whole number of at least 1",
        "MOST_IN_FLIGHT = True": "a whole number of at least 1",
        "MOST_IN_FLIGHT = 10 * 2 ** 3 + len('x')": "a whole number of at least 1, written as a literal",
        "THREADS_EACH = None": "a whole number of at least 0",
        "LEAST_PYTHON = 3": "a version of Python, such as (3, 12)",
        "LEAST_PYTHON = '3.12'": "a version of Python, such as (3, 12)",
        "SYSTEM = 1": "a value of sys.platform, such as 'linux'",
    }.items(),
)
def test_a_wrong_constant_is_named_with_what_it_must_be(project: Path, constant: str, sentence: str) -> None:
    (project / "client.py").write_text(f"{CLIENT}{constant}\n", "utf-8")
    name, value = constant.split(" = ")

    with pytest.raises(strategies.StrategyError) as caught:
        strategies.add("client.py")

    wanted = f"{project}/client.py is no strategy: {name} is {value}, and must be {sentence}; see strategies/base.py"
    assert str(caught.value) == wanted


@pytest.mark.parametrize("method", ["is_file", "read_text"])
def test_a_file_that_cannot_be_read_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    real = getattr(Path, method)

    def refuse(path: Path, *args: Any, **options: Any) -> Any:
        if path.name == "client.py":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, *args, **options)

    monkeypatch.setattr(Path, method, refuse)

    with pytest.raises(strategies.StrategyError) as caught:
        strategies.add("./client.py")

    name = "./client.py" if method == "is_file" else str(project / "client.py")
    assert str(caught.value) == f"cannot read {name}: Permission denied"


def test_a_module_on_pythonpath_is_found_by_workers_too(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere" / "market").mkdir(parents=True)
    (tmp_path / "elsewhere" / "market" / "bench.py").write_text(CLIENT, "utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", "../elsewhere", str(project)]))

    name = strategies.add("market.bench")

    assert registry.registered()[name].folders == (str(tmp_path / "elsewhere"),)
    assert strategies.load(name).STACK == "shared"
    for module in ("market", "market.bench"):
        sys.modules.pop(module, None)


def test_an_async_crawl_is_refused(project: Path) -> None:
    (project / "client.py").write_text('STACK = "own"\nREQUIRES = ()\nasync def crawl(job, frontier): pass\n', "utf-8")

    with pytest.raises(strategies.StrategyError, match="crawl must be a plain function, which runs its event loop"):
        strategies.add("client.py")


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": 1}', '{"a": []}'])
def test_a_damaged_registry_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(registry.VARIABLE, text)

    with pytest.raises(strategies.StrategyError, match=r"^INFLIGHT_STRATEGIES in the environment is damaged "):
        registry.registered()


def test_a_strategy_without_crawl_is_refused_when_it_is_loaded(project: Path) -> None:
    (project / "client.py").write_text('STACK = "own"\nREQUIRES = ()\n', "utf-8")

    with pytest.raises(strategies.StrategyError, match=r"client\.py has no function crawl"):
        strategies.load(strategies.add("client.py"))


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("aside", "aside has no function crawl; if the strategy has a name in it, give aside:NAME"),
        ("aside:nope", "aside has no nope; aside:NAME names a function or an object that has a function crawl"),
        ("aside:WORD", "aside:WORD is no function and has no function crawl (docs/your-client.md)"),
    ],
)
def test_a_module_without_a_strategy_says_how_one_is_named(project: Path, reference: str, sentence: str) -> None:
    (project / "aside.py").write_text('STACK = "own"\nREQUIRES = ()\nWORD = 1\n', "utf-8")
    source = registry.Source(reference, (str(project),))

    with pytest.raises(strategies.StrategyError) as caught:
        source.load()

    assert str(caught.value).startswith(sentence)
    sys.modules.pop("aside", None)


@pytest.fixture
def _installed(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Offer two strategies as an installed distribution does; one of them is missing."""
    info = project / "shop-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(
        "[inflight.strategies]\nshop-fast = shop.bench:Fast\nlost = shop.lost\n", "utf-8"
    )
    monkeypatch.syspath_prepend(str(project))
    monkeypatch.syspath_prepend(str(project / "src"))
    registry.offered.cache_clear()
    yield
    registry.offered.cache_clear()


@pytest.mark.usefixtures("_installed")
def test_installed_distributions_offer_strategies() -> None:
    assert "shop-fast" in strategies.names()
    assert strategies.add("shop-fast") == "shop-fast"
    assert strategies.describe("shop-fast").stack == "own"


@pytest.mark.usefixtures("_installed")
def test_the_list_shows_what_is_offered_and_why_one_cannot_be_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert listing.run() == 0

    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["shop-fast", "Two clients in one module"] in lines
    assert any(line[:1] == ["lost"] and "there is no module shop.lost" in line[1] for line in lines)


def test_a_file_in_an_experiment_starts_at_the_folder_of_the_experiment(project: Path) -> None:
    text = 'strategies = ["callbacks", "../client.py"]\n[[crawl]]\nin_flight = [1]\n[site]\npages = 2\n'
    (project / "experiments").mkdir()
    path = project / "experiments" / "mine.toml"
    path.write_text(text, "utf-8")

    assert experiment.load(str(path), strategies.names()).strategies == ("callbacks", "client")
    assert strategies.reference("client", path.parent) == "../client.py"


# Arms


@pytest.fixture
def repository(project: Path) -> Path:
    (project / "src" / "helper.py").write_text("WORD = 'old'\n", "utf-8")
    (project / "client.py").write_text(HELPED, "utf-8")
    (project / "link.py").symlink_to("client.py")
    (project / "outside").symlink_to("/etc/hostname")
    git(project, "init", "--quiet")
    commit(project, "old")
    (project / "src" / "helper.py").write_text("WORD = 'new'\n", "utf-8")
    return project


def sources(prepared: sides.Prepared) -> registry.Source:
    assert prepared.runtime.sources is not None
    return prepared.runtime.sources[prepared.arm.strategy]


def test_an_arm_at_a_revision_imports_the_files_of_that_revision(repository: Path, tmp_path: Path) -> None:
    strategies.add("client.py")
    old = sides.prepare(arm("client", "HEAD"), tmp_path / "old")
    new = sides.prepare(arm("client"), tmp_path / "new")

    assert (old.commit, new.commit) == (git(repository, "rev-parse", "HEAD"), None)
    assert sources(new).target == str(repository / "client.py")
    checkout = tmp_path / "old" / "checkout"
    assert sources(old).target == str(checkout / "client.py")
    assert sources(old).folders == (str(checkout), str(checkout / "src"))
    assert (checkout / "src" / "helper.py").read_text("utf-8") == "WORD = 'old'\n"
    assert (checkout / "link.py").is_symlink()
    assert not (checkout / "outside").is_symlink()


def test_a_module_at_a_revision_is_taken_from_that_revision(repository: Path, tmp_path: Path) -> None:
    name = strategies.add("shop.bench:Fast")

    found = sources(sides.prepare(arm(name, "HEAD"), tmp_path / "old"))

    assert found == registry.Source("shop.bench:Fast", (str(tmp_path / "old" / "checkout" / "src"),))


@pytest.mark.parametrize(
    ("revision", "repository_given", "sentence"),
    [
        ("HEAD", False, "client@HEAD: {project}/client.py is in no git repository, so it has no revisions"),
        (None, True, "--repo takes a repository with a folder strategies; client is not from there"),
    ],
)
def test_an_arm_that_cannot_be_prepared_is_refused(
    project: Path, tmp_path: Path, revision: str | None, repository_given: bool, sentence: str
) -> None:
    strategies.add("client.py")

    with pytest.raises(ExperimentError) as caught:
        sides.prepare(
            arm(
                "client",
                revision,
                project if repository_given else None,
            ),
            tmp_path / "side",
        )

    assert str(caught.value) == sentence.format(project=project)


# Commands


def test_crawl_takes_a_file(project: Path) -> None:
    done = call("crawl", "http://127.0.0.1:9/", "--strategy", "./client.py", "--json")

    assert done.code == 1
    assert json.loads(done.out.splitlines()[-1])["summary"]["strategy"] == "client"


def resume(folder: Path) -> list[dict[str, Any]]:
    """Run the trials of a run that have no row, and return the rows of all."""
    planned = experiment.load(str(folder / EXPERIMENT_FILE), strategies.names())
    runs.execute(folder, planned, runs.plan(planned), lambda *_: None)
    lines = (folder / "rows.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_run_measures_a_file_beside_ours_and_is_resumed_with_the_same_text_of_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'strategies = ["callbacks", "./client.py"]\npin = false\n[site]\npages = 5\n[[crawl]]\nin_flight = [5]\n'
    (project / "small.toml").write_text(text, "utf-8")
    folder = runs.new_folder(Path("results"), experiment.load("small.toml", strategies.names())).absolute()
    whole = resume(folder)
    (folder / "rows.jsonl").write_text(json.dumps(whole[0]) + "\n", "utf-8")
    monkeypatch.setenv(registry.VARIABLE, "")
    monkeypatch.chdir(project.parent)

    again = resume(folder)

    assert {row["strategy"] for row in whole} == {row["strategy"] for row in again} == {"callbacks", "client"}
    assert all(row["status"] == "ok" for row in again)
    assert {tuple(row["knobs"]["versions"]) for row in again} == {(), ("client.py",)}
    (project / "client.py").write_text(f"{CLIENT}# changed\n", "utf-8")
    with pytest.raises(runs.RunError, match=r"^client\.py has changed since the run began; start a new run$"):
        resume(folder)


def test_a_strategy_that_no_cap_fits_is_told(project: Path) -> None:
    (project / "client.py").write_text(f"{CLIENT}MOST_IN_FLIGHT = 1\n", "utf-8")
    (project / "small.toml").write_text(
        'strategies = ["callbacks", "./client.py"]\n[[crawl]]\nin_flight = [5]\n', "utf-8"
    )

    assert "left out above 1 in flight: client" in call("run", "small.toml", "--dry-run").err.splitlines()


def test_an_alias_is_the_strategy_in_every_place_that_takes_a_name(project: Path) -> None:
    file = project / "two.toml"
    file.write_text(
        'strategies = ["asyncio"]\n'
        '[[throughput]]\nin_flight = [1]\n[[swarm]]\nstrategies = ["asyncio"]\nin_flight = [2]\n'
    )

    loaded = experiment.load(str(file), strategies.names())

    assert loaded.strategies == ("native_asyncio",)
    with pytest.raises(experiment.ExperimentError, match="two: strategies names the same value twice"):
        experiment.parse(
            {"strategies": ["asyncio", "native_asyncio"]},
            "two",
            strategies.names(),
            "two",
        )
    assert loaded.swarm[0].strategies == ("native_asyncio",)
    assert experiment.named("threads", "--strategy") == "thread_pool"
    sides = from_words("asyncio@main", "threads")
    assert (sides.a.strategy, sides.a.revision, sides.b.strategy) == ("native_asyncio", "main", "thread_pool")
    assert all(strategies.is_ours(name) for name in strategies.ALIASES.values())
    assert not any(strategies.is_ours(alias) for alias in strategies.ALIASES)


def test_a_strategy_from_elsewhere_has_priority_over_an_alias(project: Path) -> None:
    (project / "asyncio.py").write_text(CLIENT, "utf-8")

    name = strategies.add("./asyncio.py")

    assert (name, strategies.add("asyncio")) == ("asyncio", "asyncio")
    assert registry.source_of("asyncio") is not None
