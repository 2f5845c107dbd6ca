"""What a wheel gives in an environment of its own, beside a project that has packages with the names of our folders."""

import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.rows import files as rows
from tests.plugin.projects import ENVIRONMENT, Done, assert_passed
from tests.processes import run_to_end

ROOT = Path(__file__).parents[2]
LIGHT = ROOT / "tools" / "light"
SOURCES = {"inflight-bench": ROOT, "pytest-inflight": LIGHT}
HEAVY = {"pandas", "scipy", "matplotlib", "numpy", "click", "rich", "aiohttp"}
OWN = {
    "bench/__init__.py": "MINE = True\n",
    "strategies/__init__.py": "MINE = True\n",
    "fake_server.py": "MINE = True\n",
    "test_mine.py": """
import sys

import bench, fake_server, pytest, strategies


def test_own_packages_are_own():
    assert bench.MINE and strategies.MINE and fake_server.MINE


@pytest.mark.synthetic_site(pages=30, links=3, faults={"reset-mid": 0.1})
def test_fixtures(synthetic_site, crawl_with):
    for strategy in ("callbacks", "native_asyncio"):
        assert crawl_with(strategy, in_flight=5).pages == synthetic_site.expected
    assert synthetic_site.requests() >= 60


@pytest.mark.parametrize("name", ["pandas", "scipy", "matplotlib"])
def test_heavy(name):
    assert (name in sys.modules) is False
    if LIGHT:
        with pytest.raises(ModuleNotFoundError):
            __import__(name)
""",
}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build the two wheels, as a packager would: with what is installed, and asking nobody for anything."""
    place = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d"]
    for name, source in SOURCES.items():
        subprocess.run([*command, place / name], cwd=source, check=True, capture_output=True)
    return {name: next((place / name).iterdir()) for name in SOURCES}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project that has a ``bench``, a ``strategies`` and a ``fake_server`` of its own."""
    for name, text in OWN.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path / "project"


def files(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def table_of(source: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def requirements(distribution: str) -> list[str]:
    """Return what a distribution that is installed here requires, without its extras."""
    lines = [line.partition(";") for line in metadata.requires(distribution) or []]
    return [name_of(line) for line, _, marker in lines if "extra" not in marker and is_installed(name_of(line))]


def name_of(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]


def is_installed(distribution: str) -> bool:
    try:
        metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def environment(folder: Path, wheel: Path, requires: Iterable[str]) -> Path:
    """Make an environment of a wheel, links to what it requires, and nothing else; return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel],
        check=True, capture_output=True,
    )  # fmt: skip
    link((folder / "lib").glob("python*/site-packages"), requires)
    return python


def link(folders: Iterable[Path], requires: Iterable[str]) -> None:
    """Put links to distributions, and to what they require, into the one folder of packages."""
    (site,) = folders
    waiting, found = list(requires), set[str]()
    while waiting:
        name = waiting.pop().lower()
        if name not in found:
            found.add(name)
            waiting += requirements(name)
            of_it = metadata.distribution(name)
            for top in {path.parts[0] for path in of_it.files or [] if path.parts[0] not in {"..", "__pycache__"}}:
                if not (site / top).exists():
                    (site / top).symlink_to(Path(str(of_it.locate_file(top))))


def run(python: Path, project: Path, *words: str) -> Done:
    return run_to_end([python, *words], cwd=project, env=ENVIRONMENT)


def statuses(done: Done, project: Path) -> set[str]:
    """Return how the trials of a run ended. A machine that has other things to do makes rows invalid, which is 1."""
    assert done.returncode in {0, 1}, done.stderr
    assert "Traceback" not in done.stderr
    (folder,) = (project / "results").iterdir()
    assert list((folder / "plots").glob("*.png"))
    return {row.status for row in rows.read(folder)}


def needed(source: Path) -> list[str]:
    return [name_of(line) for line in table_of(source)["dependencies"]]


@pytest.mark.ci
def test_a_wheel_has_one_name_and_both_have_the_same_code(wheels: dict[str, Path]) -> None:
    code = {}
    for name, wheel in wheels.items():
        found = files(wheel)
        tops = {path.partition("/")[0] for path in found}
        assert {top for top in tops if not top.endswith(".dist-info")} == {"inflight"}
        code[name] = {path: text for path, text in found.items() if path.startswith("inflight/")}
        assert {
            "inflight/py.typed",
            "inflight/bench/rows/row.schema.json",
            "inflight/bench/plan/presets/smoke.toml",
        } <= set(code[name])
    assert code["inflight-bench"] == code["pytest-inflight"]
    assert {path for path in code["inflight-bench"] if path.endswith(".py")} == {
        f"inflight/{path.relative_to(ROOT)}"
        for folder in ("bench", "strategies", "fake_server", "conformance")
        for path in (ROOT / folder).rglob("*.py")
    } | {"inflight/__init__.py", "inflight/__main__.py"}


def test_the_light_one_is_the_other_one_with_fewer_requirements() -> None:
    full, light = table_of(ROOT), table_of(LIGHT)

    for key in ("version", "license", "requires-python", "authors"):
        assert full[key] == light[key]
    assert full["entry-points"] == light["entry-points"]
    assert "scripts" not in light
    assert set(light["dependencies"]) < {*full["dependencies"], *full["optional-dependencies"]["pytest"]}
    assert not HEAVY & set(needed(LIGHT))


@pytest.mark.ci
@pytest.mark.parametrize("name", SOURCES)
def test_a_wheel_works_beside_packages_of_the_same_names(
    wheels: dict[str, Path], project: Path, tmp_path: Path, name: str
) -> None:
    python = environment(tmp_path / "environment", wheels[name], [*needed(SOURCES[name]), "pytest"])
    test = project / "test_mine.py"
    test.write_text(f"LIGHT = {name == 'pytest-inflight'}\n{test.read_text('utf-8')}", "utf-8")

    assert_passed(run(python, project, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error"), 5)
    there = run(python, project, "-c", "import inflight, bench; print(inflight.__file__, bench.MINE)").stdout
    assert there.startswith(str(tmp_path / "environment"))
    assert there.endswith("True\n")
    if name == "inflight-bench":
        the_command_works(python, project)


def the_command_works(python: Path, project: Path) -> None:
    (project / "tiny.toml").write_text(
        'strategies = ["callbacks"]\nrounds = 1\n[[crawl]]\nin_flight = [2]\npages = 5\n', "utf-8"
    )
    inflight = str(python.with_name("inflight"))

    done = run(python, project, "-m", "inflight", "run", "smoke", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert statuses(run(python, project, inflight, "run", "tiny.toml"), project) == {"ok"}
    done = run(python, project, inflight, "check", "callbacks", "--rule", "ends", "--rule", "cleanup")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "callbacks: 2 of 2 rules hold (" in done.stdout


@pytest.mark.night
def test_the_preset_smoke_runs_from_a_wheel(wheels: dict[str, Path], project: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "environment", wheels["inflight-bench"], needed(ROOT))

    done = run(python, project, str(python.with_name("inflight")), "run", "smoke")

    assert "ok" in statuses(done, project) <= {"ok", "skipped"}
