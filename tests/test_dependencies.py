"""Who may import whom (docs/architecture.md): read from the source, and checked once more in a running process.

Names of ours are without their first part here: ``bench.rows`` is ``inflight.bench.rows``.
"""

import ast
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

from inflight import strategies
from inflight.bench.cli import ENTRIES
from tests.processes import run_to_end

ROOT = Path(__file__).parent.parent
NAME = "inflight"
PACKAGES = ("bench", "strategies", "fake_server", "conformance")
STANDARD = sys.stdlib_module_names
HEAVY = {"pandas", "matplotlib", "scipy", "numpy", "locust", "msgspec"}
DOES_IO = {
    "socket", "selectors", "select", "asyncio", "threading", "multiprocessing", "concurrent", "subprocess", "ssl",
    "socketserver", "http.client", "http.server", "urllib.request", "signal",
}  # fmt: skip
PURE_PARTS_OF_THE_SITE = {
    "fake_server.site",
    "fake_server.config",
    "fake_server.delays",
    "fake_server.faults",
}
SHARED_BY_BOTH_HALVES = {
    "bench", "bench.frame", "bench.frame.statistics", "bench.plan", "bench.plan.trial",
    "bench.plan.bare", "bench.plan.experiment", "bench.plan.grid", "bench.plan.judge",
    "bench.rows", "bench.rows.files", "bench.rows.kinds", "bench.rows.parts", "bench.rows.records",
    "bench.units",
}  # fmt: skip
EXHIBITS = {"bench.measure.idle.worker": {"strategies.generators"}}
"""The programs whose very subject is a part of one strategy: the block that is a Task of our own."""
LOCUST = {"locust", "gevent"}
PATCHED = {
    f"bench.measure.swarm.{name}" for name in ("arrivals", "locustfile", "master", "node", "page_user", "strategy_user")
}
"""The modules that may import Locust, which patches the whole process: they run in processes of their own."""
BROTLI = {"brotli", "_brotli"}
TAKEN_IF_THERE = {
    "aiohttp_client": BROTLI,
    "httpx2_client": BROTLI,
    "httpx_client": BROTLI | {"click", "pygments", "rich"},
    "requests_threads": BROTLI | {"socks"},
    "urllib3_threads": BROTLI,
}
"""What a strategy's own package loads where something else (Locust) has brought it along."""
SUITE = "conformance"
SERVED_BY = {"fake_server.__main__", "fake_server.options"}
SERVES = {"bench.commands.serve"}
"""The modules that start a server themselves, with its options: the command that does."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}


def modules(*packages: str) -> list[str]:
    """Return the modules of these packages, the packages themselves included."""
    return [name for name in MODULES if within(name, packages)]


def within(name: str, packages: Iterable[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def is_of(name: str, *packages: str) -> bool:
    """Return whether a name is of these packages, or of the standard library."""
    return within(name, packages) or name.partition(".")[0] in STANDARD


def short(name: str) -> str:
    """Return the name of a module of ours without its first part; of others as it is."""
    return name.removeprefix(f"{NAME}.")


@cache
def imported(name: str, *, at_start_only: bool = False) -> set[str]:
    """Return what a module imports, by full name: ours down to the module, others as they are written."""
    tree = ast.parse(MODULES[name].read_text("utf-8"))
    nodes = at_start(tree) if at_start_only else ast.walk(tree)
    return {found for node in nodes for found in names_in(node, name)}


def imports(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Return each of these modules with each name that it imports."""
    return ((name, found) for name in names for found in sorted(imported(name)))


def at_start(node: ast.AST) -> Iterator[ast.AST]:
    """Walk over all that runs when a module is imported: no function's body, nothing for type checkers only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            continue
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from at_start(child)


def names_in(node: ast.AST, importer: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (short(alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{importer} has a relative import"
        assert node.module is not None
        module = short(node.module)
        for alias in node.names:
            full = short(f"{node.module}.{alias.name}")
            yield full if full in MODULES or module not in MODULES else module


@cache
def loaded_with(name: str) -> set[str]:
    """Return all that is imported when a module of ours is, by way of others of ours too."""
    found: set[str] = set()
    waiting = {name}
    while waiting:
        module = waiting.pop()
        found.add(module)
        if module in MODULES:
            parents = {module.rpartition(".")[0]} - {""}
            waiting |= (imported(module, at_start_only=True) | parents) - found
    return found


def top(name: str) -> str:
    return name.partition(".")[0]


def our_module(name: str) -> str | None:
    """Return the module of ours that a name is or is in."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name or None


def test_the_core_needs_of_the_rest_the_type_of_a_job_alone() -> None:
    found = {found for _, found in imports(modules("strategies.core")) if not is_of(found, "strategies.core")}

    assert found == {"strategies.base"}
    assert not any("strategies.base" in imported(name, at_start_only=True) for name in modules("strategies.core"))


@pytest.mark.parametrize("name", [name for name in strategies.names() if strategies.describe(name).stack == "shared"])
def test_a_crawl_of_http_does_not_pay_for_tls(name: str) -> None:
    assert "ssl" not in imported(f"strategies.{name}")
    assert not loaded_with(f"strategies.{name}") & {"strategies.core.tls", "gevent.ssl"}


def test_a_strategy_imports_the_core_and_its_own_package_only() -> None:
    for strategy in strategies.names():
        described = strategies.describe(strategy)
        own = top_levels(described.requires) | set(described.requires)  # of the same name, if it is not installed
        for name, found in imports([f"strategies.{strategy}"]):
            allowed = ["strategies.core", "strategies.base", "strategies.client"]
            allowed += [f"strategies.{described.variant_of}"] if described.variant_of else []
            assert within(found, allowed) or top(found) in STANDARD or top(found) in own, (name, found)


@pytest.mark.parametrize("name", strategies.crawlers())
def test_a_strategy_that_shares_the_stack_parses_with_the_core(name: str) -> None:
    tree = ast.parse(MODULES[f"strategies.{strategies.describe(name).variant_of or name}"].read_text("utf-8"))
    taken = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}

    assert strategies.describe(name).stack == ("shared" if "ResponseParser" in taken else "own")


def test_only_what_is_no_model_has_no_stack() -> None:
    described = [strategies.describe(name) for name in strategies.names()]

    assert {one.name for one in described if one.stack == "none"} == set(strategies.names()) - set(
        strategies.crawlers()
    )


def test_the_harness_knows_the_site_and_not_the_server() -> None:
    for name, found in imports(modules("bench")):
        if top(found) == "fake_server" and not (name in SERVES and within(found, SERVED_BY)):
            # "fake_server" itself is empty, and names a folder
            assert within(found, PURE_PARTS_OF_THE_SITE) or found == "fake_server", (name, found)


def test_the_harness_names_no_strategy() -> None:
    named = {f"strategies.{name}" for name in strategies.names()}
    for name, found in imports(modules("bench")):
        assert found not in named - EXHIBITS.get(name, set()), (name, found)


SHARED = ["bench.units", "bench.rows", "bench.plan", "bench.frame"]
MEASURING = modules("bench.measure")
COMMANDS = {"command", "selftest", "demo", "trials"}
"""Modules of reading rooms that plan and measure, and call the one half and the other."""
READS = ("show", "ab", "runs", "race", "predict", "claims")
PROGRAMS = modules("bench.claims.programs")
READING = [
    name
    for name in modules(*(f"bench.{room}" for room in READS))
    if name.rpartition(".")[2] not in COMMANDS and name not in PROGRAMS
]


RULES: dict[str, tuple[list[str], Callable[[str], bool]]] = {
    "the core does no I/O": (
        [name for name in modules("strategies.core") if name != "strategies.core.tls"],
        lambda found: not within(found, DOES_IO),
    ),
    "core.tls may import ssl, for its context": (
        ["strategies.core.tls"],
        lambda found: not within(found, DOES_IO) or top(found) == "ssl",
    ),
    "the package of strategies imports none of them": (
        ["strategies", "strategies.base", "strategies.registry"],
        lambda found: is_of(found, "strategies.core", "strategies.base", "strategies.registry"),
    ),
    "the worker imports what every Python has": (
        modules("bench.measure.worker"),
        lambda found: (
            is_of(
                found,
                "strategies.core",
                "strategies.base",
                "bench.measure.worker",
            )
            or found == "strategies"
        ),
    ),
    "the server imports nothing of ours": (
        modules("fake_server"),
        lambda found: not within(found, set(PACKAGES) - {"fake_server"}),
    ),
    "the measuring half knows nothing of the reading half": (
        MEASURING,
        lambda found: our_module(found) not in READING,
    ),
    "the reading half knows nothing of how rows are made": (
        READING,
        lambda found: (
            not within(found, ["strategies", "fake_server", "bench"])
            or our_module(found) in READING
            or within(found, SHARED)
        ),
    ),
    "a program of a claim imports the standard library and strategies": (
        PROGRAMS,
        lambda found: is_of(found, "strategies", *PROGRAMS),
    ),
    "the suite imports strategies and the site alone": (
        modules(SUITE),
        lambda found: is_of(found, SUITE, "strategies", *PURE_PARTS_OF_THE_SITE, "pytest", "psutil"),
    ),
    "what all share does not measure": (
        modules(*SHARED),
        lambda found: not within(found, ["bench.show", "bench.measure"]),
    ),
    "rows and plan know nothing of the frame": (
        modules("bench.rows", "bench.plan"),
        lambda found: not within(found, ["bench.frame"]),
    ),
}
"""Which modules import what alone."""


@pytest.mark.parametrize("rule", RULES)
def test_a_module_imports_what_its_rule_permits(rule: str) -> None:
    importers, is_permitted = RULES[rule]

    assert importers
    assert [(name, found) for name, found in imports(importers) if not is_permitted(found)] == []


def test_the_suite_is_run_by_its_command_alone() -> None:
    for name, found in imports(modules("bench")):
        assert not within(found, [SUITE]) or name == "bench.commands.check", name
        assert top(found) not in {"pytest", "_pytest"} or name in {"bench.pytest_plugin", "bench.commands.check"}, name


def test_a_check_imports_pytest_when_it_runs() -> None:
    assert not {top(found) for found in loaded_with("bench.commands.check")} & {"pytest", "_pytest"}


@pytest.mark.parametrize("folder", sorted({path.parent for path in MODULES.values()}), ids=str)
def test_a_folder_has_at_most_twenty_modules(folder: Path) -> None:
    is_exhibition = folder == ROOT / "strategies"  # each is a file of its own
    assert is_exhibition or len(list(folder.glob("*.py"))) <= 21, "twenty and its __init__.py"


def test_the_two_halves_share_few_modules() -> None:
    measuring, reading = (
        {ours for name in half for found in imported(name) if (ours := our_module(found)) is not None}
        for half in (MEASURING, READING)
    )

    assert {name for name in measuring & reading if top(name) == "bench"} <= SHARED_BY_BOTH_HALVES


@pytest.mark.parametrize(
    "name",
    [
        "bench",
        "bench.cli",
        *(f"bench.{entry.module}" for entry in ENTRIES.values()),
    ],
)
def test_commands_import_what_is_heavy_when_they_need_it(name: str) -> None:
    heavy = HEAVY if name in {"bench", "bench.cli"} else (HEAVY - {"msgspec"}) | {"rich"}  # they write rows

    assert not {top(found) for found in loaded_with(name)} & heavy


def test_what_patches_its_whole_process_is_loaded_in_processes_of_its_own() -> None:
    for name, found in imports(sorted(set(modules("bench")) - PATCHED)):
        assert top(found) not in LOCUST, (name, found)
        assert not {top(further) for further in loaded_with(found)} & LOCUST, (name, found)


LIST_MODULES = """
import json, sys
sys.path.insert(0, {root!r})
before = set(sys.modules)
{work}
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def loaded_by(work: str, *flags: str) -> set[str]:
    """Return the modules that a fresh interpreter loads for a piece of work."""
    code = LIST_MODULES.format(root=str(ROOT), work=work)
    done = run_to_end([sys.executable, *flags, "-c", code], check=True)
    return {short(name) for name in json.loads(done.stdout)} - {NAME}


@pytest.mark.ci
@pytest.mark.parametrize("name", strategies.names())
def test_a_worker_loads_one_strategy_and_what_that_needs(name: str) -> None:
    description = strategies.describe(name)
    if description.lack:
        pytest.skip(f"{name} {description.lack}")
    isolated = () if description.requires else ("-I", "-S")  # as if nothing were installed

    loaded = loaded_by(
        f"import inflight.bench.measure.worker.crawl; from inflight import strategies; strategies.load({name!r})",
        *isolated,
    )

    ours = {module for module in loaded if top(module) in PACKAGES}
    others = {
        top(module) for module in loaded - ours if not re.match("_?cython_", module)
    }  # compiled modules add these
    assert f"strategies.{name}" in ours
    assert {module for module in ours if not within(module, ["strategies.core"])} <= {
        "bench", "bench.measure", "bench.measure.worker", "bench.measure.worker.crawl",
        "strategies", "strategies.base", "strategies.client", "strategies.registry", f"strategies.{name}",
        f"strategies.{description.variant_of or name}",
    }  # fmt: skip
    assert others <= STANDARD | top_levels(description.requires) | TAKEN_IF_THERE.get(name, set())


def test_names_and_descriptions_import_no_strategy() -> None:
    loaded = loaded_by(
        "from inflight import strategies as all; [all.describe(name) for name in all.names()]", "-I", "-S"
    )

    assert {module for module in loaded if top(module) == "strategies"} == {"strategies", "strategies.registry"}


def test_the_site_needs_nothing_installed_and_no_loop_or_socket() -> None:
    loaded = loaded_by(
        "from inflight.fake_server.site import Site, SiteConfig; Site(SiteConfig()).page(1)",
        "-I",
        "-S",
    )

    assert {top(module) for module in loaded} <= (STANDARD | {"fake_server"}) - {"asyncio", "socket"}


@cache
def packages() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def top_levels(distributions: Iterable[str]) -> set[str]:
    """Return the names under which distributions are imported, and those that they require."""
    found = closure(distributions)
    return {package for package, names in packages().items() if found & {canonical(name) for name in names}}


def closure(distributions: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = {canonical(name) for name in distributions}
    while waiting:
        name = waiting.pop()
        found.add(name)
        try:
            required = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # needed on another system only
            continue
        names = {re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in required if "extra ==" not in line}
        waiting |= {canonical(name) for name in names} - found
    return found


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_only_the_frame_and_what_reads_it_know_pandas() -> None:
    for name, found in imports(modules("bench")):
        if top(found) == "pandas":
            assert within(
                name,
                [
                    "bench.frame",
                    "bench.show",
                    "bench.predict",
                    "bench.runs",
                    "bench.claims",
                ],
            ), name
