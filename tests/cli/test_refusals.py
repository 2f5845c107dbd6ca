"""What the commands refuse (``refusals.txt``), and their helps.

A refusal is one sentence on standard error; nothing is printed beside it, and no file is written.
"""

import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path

import pytest

from inflight.bench.cli import main
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import MACHINE_FILE, Row
from tests.ab.repositories import commit, new_repository
from tests.api.made_results import reference
from tests.cli.command import ENVIRONMENT, INFLIGHT, Done, call, inflight
from tests.made_rows import crawl_row, memory_row, open_row
from tests.race.made_races import runner
from tests.runs.made_runs import noisy_run, saved

REFUSALS: list[tuple[str, str]] = re.findall(
    r"^\$ (.*)\n(.*)$", Path(__file__).with_name("refusals.txt").read_text(encoding="utf-8"), re.MULTILINE
)
"""Command lines and their sentences."""
HELPS: list[tuple[str, tuple[str, ...]]] = [
    ("", ("inflight demo", "inflight --help")),
    ("--help", tuple(main.commands)),
    ("--version", ("inflight",)),
    *((f"{name} --help", (f"inflight {name}", "Usage", "Exit codes:")) for name in main.commands),
    ("run -h", ("inflight run", "Usage")),
    ("list ./needy.py", ("needs no-such-thing",)),
]

RED = "\\u001b[31m"
HEAD = "STACK = 'own'\nREQUIRES = ()\n"
FILES = {
    "file": "",
    "wrong.toml": "round = 1\n[[crawl]]",
    "none.toml": "strategies = ['sequential']\n[[crawl]]\nin_flight = [2]",
    "no_tls.toml": "strategies = ['asyncio_sockets']\n[[crawl]]\ntls = true",
    "held.toml": """strategies = ['callbacks', 'native_asyncio', 'asyncio_small_tls']
[[memory]]\nin_flight = [500_000, 1_000_000]\ntls = true""",
    "nested.toml": "x = " + "[" * 100_000,
    "key.toml": f'"a{RED}\\nb" = 1\n',
    "module.toml": f'strategies = ["{RED}:x"]\n[[crawl]]\n',
    "number.toml": "rounds = 1e400\n[[crawl]]\n",
    "share.toml": "[[crawl]]\nsite = { faults = { drip = nan } }\n",
    "unnamed.toml": "[[memory]]\nvariables = { '' = 'x' }\n",
    "nul.toml": '[[memory]]\nvariables = { X = "\\u0000" }\n',
    "hides.toml": "[[memory]]\nvariables = { PYTHONPATH = '/' }\n",
    "reference.toml": "[[throughput]]\nagainst = { variables = { X = '1', 'a b' = '' } }\n",
    "idle.toml": "[[idle]]\nn = [1]\nvariables = { 'a\\b' = '' }\n",
    "crawl.toml": "[[crawl]]\nin_flight = [1, 300]\n",
    "blocks.toml": "[[throughput]]\nin_flight = [1, 300]\n",
    "memory.toml": "[[memory]]\nin_flight = [4000]\n",
    "half/experiment.toml": "[[crawl]]\n",
    "rubbish/experiment.toml": "strategies = ['callbacks']\n[[crawl]]\n",
    "rubbish/machine.json": "{}",
    "rubbish/rows.jsonl": "rubbish\n",
    "needy.py": "STACK = 'own'\nREQUIRES = ('no-such-thing', 'psutil')\ndef crawl(job, frontier): ...\n",
    "no_crawl.py": HEAD,
    "no_stack.py": "x = 1\n",
    "half.py": "STACK = 'own'\nREQUIRES = (\n",
    "imports.py": f"{HEAD}import no_such_module\n",
    "leaves.py": f"{HEAD}import sys\nsys.exit(0)\n",
    "ends.py": f"{HEAD}import os\nos._exit(0)\n",
    "leaves_later.py": f"{HEAD}import sys\ndef crawl(job, frontier): sys.exit(0)\n",
    "ends_later.py": f"{HEAD}import os\ndef crawl(job, frontier): os._exit(0)\n",
    "raises.py": f"{HEAD}def crawl(job, frontier): raise ValueError('bad')\n",
    "killed.py": f"{HEAD}import os\ndef crawl(job, frontier): os.kill(os.getpid(), 11)\n",
}
LIMITED = [
    ("crawl x --in-flight 1000000", ("RLIMIT_NOFILE", 1000), ("1,000,000", "1,000,064", "RLIMIT_NOFILE")),
    ("run crawl.toml", ("RLIMIT_NOFILE", 256), ("364 descriptors", "RLIMIT_NOFILE", "is 256", "at most 192")),
    ("run blocks.toml", ("RLIMIT_NOFILE", 256), ("364 descriptors", "RLIMIT_NOFILE", "is 256", "at most 192")),
    ("run memory.toml", ("RLIMIT_NOFILE", 300), ("4,064 descriptors", "RLIMIT_NOFILE")),
    ("run smoke", ("RLIMIT_NOFILE", 64), ("65 descriptors", "RLIMIT_NOFILE", "is 64", "raise the limit")),
    ("demo", ("RLIMIT_NOFILE", 100), ("RLIMIT_NOFILE",)),
    ("serve --port 0", ("RLIMIT_NOFILE", 10), ("RLIMIT_NOFILE (ulimit -Hn) is 10", "needs 64", "raise the limit")),
    *(
        (words, ("RLIMIT_AS", 600_000_000), ("RLIMIT_AS (ulimit -v) is 600 MB", "needs 720 MB", "raise the limit"))
        for words in ("run smoke", "run --resume half", "report base")
    ),
]
WITHOUT_NETWORK = ("unshare", "-rn")
"""A network namespace of its own, in which not even loopback is up; a user needs a user namespace for it."""
FEW_PORTS = "echo 40000 40012 > /proc/sys/net/ipv4/ip_local_port_range; "
NO_LOOPBACK = ("fake server", "127.0.0.1", "Network is unreachable", "ip link set lo up")
NETWORKS = [
    ("run smoke", FEW_PORTS, ("ports", "net.ipv4.ip_local_port_range has 13", "sysctl -w")),
    *((words, "", NO_LOOPBACK) for words in ("run smoke", "demo", "race", "ab callbacks generators")),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all that the command lines name."""
    place = tmp_path_factory.mktemp("refused")
    for name, text in FILES.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    (place / "empty").mkdir()
    runs: dict[str, list[Row]] = {
        "base": noisy_run(1), "head": noisy_run(2), "none": [], "others": noisy_run(2, strategies=("thread_pool",)),
        "invalid": [crawl_row(number=number, invalid=True) for number in (1, 2)],
        "probes": [row for row in rows.read(reference("claims")) if row.kind == "probe"],
        "memory": [memory_row("callbacks"), memory_row("generators")],
        "raced": [runner("callbacks", [5, 5]), runner("sequential", [1] * 10)],
        "brace": noisy_run(2),
    }  # fmt: skip
    for name, found in runs.items():
        saved(place / name, found)
    for name, row, part, key, value in (
        ("newer", crawl_row(), None, "format", rows.FORMAT + 1),
        ("backlog", open_row(), "measured", "backlog", {"at_ns": None, "waiting": [1]}),
        ("users", open_row(), "workload", "users", 0),
        ("service", crawl_row(), "measured", "service", []),
    ):
        good = row.to_json()
        wrong = json.loads(good)
        (wrong if part is None else wrong[part])[key] = value
        lines = [good] * (name == "service") + [json.dumps(wrong)]
        (saved(place / name, []) / rows.ROWS_FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (place / "brace" / MACHINE_FILE).write_text("{", encoding="utf-8")
    repository = new_repository(place / "repository")
    (repository / "notes").write_text("not a strategy\n", encoding="utf-8")
    commit(repository, "changes no strategy")
    return place


@pytest.fixture(scope="module")
def known(place: Path) -> Iterator[dict[str, object]]:
    """Return what the command lines name in braces."""
    nested = "(" * 500 + ")" * 500
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        yield {"{taken}": port, "{python}": sys.executable, "{place}": place, "{nested}": nested}


def files_of(place: Path) -> list[Path]:
    """Return the files of a folder, without those that the import of a strategy compiles."""
    return sorted(path for path in place.rglob("*") if "__pycache__" not in path.parts)


@pytest.mark.parametrize(("words", "sentence"), REFUSALS, ids=[words for words, _ in REFUSALS])
def test_a_refusal_is_one_sentence(words: str, sentence: str, place: Path, known: dict[str, object]) -> None:
    before = files_of(place)
    for name, value in known.items():
        words, sentence = (text.replace(name, str(value)) for text in (words, sentence))

    done = call(*shlex.split(words), folder=place, columns=100)

    assert done.sentence
    assert OutputChecker().check_output(f"{sentence}\n", done.err, ELLIPSIS), done.err
    assert files_of(place) == before


@pytest.mark.parametrize("words", ["run", "report", "race", "run --resume", "check", "serve --host", "crawl", "list"])
def test_an_argument_with_a_control_sequence_is_quoted_without_it(words: str, tmp_path: Path) -> None:
    told = call(*words.split(), "a\x1b[31m\nb", folder=tmp_path).refusal

    assert told.isprintable()


@pytest.mark.parametrize(("words", "names"), HELPS, ids=[words for words, _ in HELPS])
def test_a_help_names_what_it_is_about(words: str, names: tuple[str, ...], place: Path) -> None:
    done = call(*words.split(), folder=place, columns=100)

    assert (done.code, done.err) == (0, "")
    assert [name for name in names if name not in done.out] == []


@pytest.mark.parametrize(("words", "limit", "names"), LIMITED, ids=[words for words, *_ in LIMITED])
def test_a_limit_that_is_too_low_is_named(
    words: str, limit: tuple[str, int], names: tuple[str, ...], place: Path
) -> None:
    before = files_of(place)

    told = inflight(*words.split(), folder=place, limit=limit).sentence

    assert [name for name in names if name not in told] == [], told
    assert files_of(place) == before


@pytest.mark.parametrize(("words", "before", "names"), NETWORKS, ids=[" ".join(row[:2]) for row in NETWORKS])
def test_a_network_that_is_too_small_is_named_before_the_run(
    words: str, before: str, names: tuple[str, ...], place: Path
) -> None:
    if shutil.which("unshare") is None or subprocess.run([*WITHOUT_NETWORK, "true"], check=False).returncode:
        pytest.skip("this machine allows no network namespace")
    files = files_of(place)
    command = [*WITHOUT_NETWORK, "sh", "-c", f'{before}exec "$0" "$@"', *INFLIGHT, *words.split()]

    ended = subprocess.run(command, cwd=place, env=ENVIRONMENT, capture_output=True, text=True, check=False)

    refusal = Done(ended.returncode, ended.stdout, ended.stderr).refusal
    assert ended.returncode == 2
    assert [name for name in names if name not in refusal] == [], refusal
    assert files_of(place) == files
