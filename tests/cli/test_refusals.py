"""What the commands refuse, and their helps: one table of words, exit code, and what the answer must name.

A refusal is one sentence on standard error; nothing is printed beside it, and no file is written.
"""

import json
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
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

UNITS = [
    "ab callbacks generators --latency", "open-loop --rate 5 --latency", "advise --in-flight 5 --latency",
    "serve --latency", "ab callbacks generators --budget", "serve --drip", "crawl x --timeout",
    "check callbacks --timeout", "open-loop --rate 5 --duration", "swarm --in-flight 9 --hold",
    "advise --latency 0 --in-flight 5 --cpu", "serve --idle-timeout",
]  # fmt: skip
"""Commands that end with an option whose value is a time."""
SIZES = ["run --memory-budget", "claims --memory-budget", "swarm --in-flight 9 --memory-budget"]

TABLE: list[tuple[str, int, tuple[str, ...]]] = [
    # helps
    ("", 0, ("inflight demo", "inflight --help")),
    ("--help", 0, tuple(main.commands)),
    ("--version", 0, ("inflight",)),
    *((f"{name} --help", 0, (f"inflight {name}", "Usage", "Exit codes:")) for name in main.commands),
    ("run -h", 0, ("inflight run", "Usage")),
    # wrong usage of any command
    ("dance", 2, ("dance",)),
    ("--dance", 2, ("--dance",)),
    ("rum", 2, ("rum", "did you mean run?")),
    ("run --dance", 2, ("--dance", "inflight run --help")),
    ("run --strategies a", 2, ("--strategies", "did you mean --strategy?")),
    ("serve --delay 5ms", 2, ("--delay", "did you mean --latency?")),
    ("crawl", 2, ("URL...", "inflight crawl --help")),
    ("swarm", 2, ("--in-flight",)),
    ("crawl x --in-flight", 2, ("--in-flight", "inflight crawl --help")),
    ("crawl x --connection y", 2, ("--connection", "'y'", "'keep-alive'", "'per-fetch'")),
    ("run a b", 2, ("(b)", "inflight run --help")),
    ("serve here", 2, ("(here)",)),
    ("run smoke --strategy callbacks,thread_pool", 2, ("--strategy", "a list", "--strategy callbacks --strategy")),
    ("crawl x --strategy a --strategy b", 2, ("--strategy", "one strategy, not 2")),
    # numbers, times and sizes
    ("run --rounds two", 2, ("--rounds", "'two'", "1<=x<=1000")),
    ("run --rounds 0", 2, ("--rounds", "0 is not in the range", "1<=x<=1000")),
    ("run --rounds=-1", 2, ("--rounds", "-1 is not in the range", "1<=x<=1000")),
    ("open-loop --rate 1 --rounds 1001", 2, ("--rounds", "1001 is not in the range", "1<=x<=1000")),
    ("crawl x --in-flight 1.5", 2, ("--in-flight", "'1.5'", "1<=x<=1000000")),
    ("crawl x --in-flight 0", 2, ("--in-flight", "0 is not in the range", "1<=x<=1000000")),
    ("crawl x --max-tries 0", 2, ("--max-tries", "0 is not in the range", "1<=x<=1000")),
    ("race --speed nan", 2, ("--speed", "nan", "0.01<=x<=100")),
    ("serve --port x", 2, ("--port", "'x'")),
    ("serve --missing many", 2, ("--missing", "'many'")),
    ("swarm --in-flight 0", 2, ("--in-flight", "0 is not in the range", "1<=x<=10000000")),
    ("swarm --in-flight 10000001", 2, ("--in-flight", "10000001 is not in the range", "1<=x<=10000000")),
    ("swarm --in-flight 10 --web 99999", 2, ("--web", "99999 is not in the range", "1<=x<=65535")),
    ("swarm --in-flight 10 --nodes 0", 2, ("--nodes", "0 is not in the range", "1<=x<=64")),
    *((f"{words} 80", 2, (words.rsplit(maxsplit=1)[-1], "80 has no unit", "80ms", "80s")) for words in UNITS),
    *((f"{words} 4", 2, ("--memory-budget", "4 has no unit", "4MB", "4GB")) for words in SIZES),
    *(
        (f"{SIZES[0]}={size}", 2, ("--memory-budget", f'"{size}"', "500MB"))
        for size in ("lots", "-1GB", "0", "1.2.3GB", "")
    ),
    ("claims races --memory-budget much", 2, ("--memory-budget", '"much"')),
    ("swarm --in-flight 10 --memory-budget little", 2, ("--memory-budget", '"little"')),
    ("crawl x --timeout soon", 2, ("--timeout", '"soon"')),
    ("crawl x --timeout 1.2.3", 2, ("--timeout", '"1.2.3"')),
    ("crawl x --timeout ''", 2, ("--timeout",)),
    ("crawl x --timeout 0", 2, ("--timeout", "longer than 0", "a day")),
    ("crawl x --timeout 0.0000000001s", 2, ("--timeout", "longer than 0")),
    ("crawl x --timeout 99999999999999999999s", 2, ("--timeout", "a day")),
    ("crawl x --timeout 86401s", 2, ("--timeout", "a day")),
    ("check callbacks --timeout 0", 2, ("--timeout",)),
    ("ab callbacks generators --budget soon", 2, ("--budget", '"soon"')),
    ("advise --latency x --in-flight 1", 2, ("--latency", '"x"')),
    # strategies
    ("run smoke --strategy callback", 2, ("--strategy", "'callback'", '"callbacks"')),
    ("crawl x --strategy callback", 2, ("'callback'", '"callbacks"')),
    ("crawl x --strategy base", 2, ("'base'",)),
    ("crawl x --strategy ../x", 2, ("no file ../x",)),
    ("race --strategy callbacks --strategy nobody", 2, ("--strategy", "'nobody'")),
    ("race raced --strategy calbacks", 2, ("--strategy", "'calbacks'", '"callbacks"')),
    ("ab callbacks calbacks", 2, ("calbacks", "callbacks")),
    ("claims --strategy callback", 2, ("--strategy", "'callback'", '"callbacks"')),
    ("selftest --strategy callback", 2, ("--strategy", "'callback'", '"callbacks"')),
    ("swarm --in-flight 10 --strategy callback", 2, ("'callback'", '"callbacks"')),
    ("swarm --in-flight 10 --strategy sequential", 2, ("sequential", "1 in flight")),
    *(
        (f"{words} ./nothing.py", 2, ("no file ./nothing.py",))
        for words in (
            "run smoke --strategy",
            "race --strategy",
            "ab callbacks",
            "selftest --strategy",
            "swarm --in-flight 9 --strategy",
            "check",
        )
    ),
    ("crawl x --strategy ./needy.py", 2, ("needy", "pip install no-such-thing")),
    ("check ./needy.py", 2, ("pip install no-such-thing",)),
    *(
        (f"{words} ./{name}.py", 2, told)
        for words in ("crawl http://127.0.0.1:9/ --strategy", "check")
        for name, told in {"no_crawl": ("no function crawl",), "imports": ("'no_such_module'",)}.items()
    ),
    ("list ./needy.py", 0, ("needs no-such-thing",)),
    ("check ./no_stack.py", 2, ("'STACK'",)),
    ("check ./half.py", 2, ("half.py", "never closed")),
    ("check ./leaves.py", 2, ("leaves", "imported", "SystemExit: 0")),
    ("check ./ends.py", 2, ("ends", "imported", "exit code 0")),
    ("crawl http://127.0.0.1:9/ --strategy ./leaves.py", 2, ("leaves", "worker", "exited with 0")),
    ("crawl http://127.0.0.1:9/ --strategy ./ends_later.py", 2, ("ends_later", "worker", "exited with 0")),
    ("crawl http://127.0.0.1:9/ --strategy ./leaves_later.py", 2, ("leaves_later", "SystemExit: 0")),
    ("crawl http://127.0.0.1:9/ --strategy ./raises.py", 2, ("raises", "ValueError: bad")),
    ("crawl http://127.0.0.1:9/ --strategy ./killed.py", 2, ("killed", "signal 11")),
    # crawl, check, serve
    ("crawl https://localhost/", 2, ("https://localhost/", "https is not supported")),
    ("crawl HTTPS://localhost/", 2, ("https is not supported",)),
    ("crawl ftp://localhost/", 2, ("ftp://localhost/", "http://localhost:8080/")),
    ("crawl ''", 2, ("http URL",)),
    ("crawl http://", 2, ("http://", "http URL")),
    ("crawl 'http://[::1/'", 2, ("http://[::1/",)),
    ("crawl http://localhost:99999/", 2, ("http://localhost:99999/", "Port")),
    ("crawl http://me:secret@localhost/", 2, ("http URL",)),
    ("crawl 'http://a b/'", 2, ("http://a b/",)),
    ("crawl http://localhost/ nonsense://x", 2, ("nonsense://x",)),
    ("crawl x --exclude (", 2, ("--exclude", "'('", "regular expression")),
    ("crawl x --exclude a{{99999999999}}", 2, ("--exclude", "'a{{99999999999}}'", "repetition number", "simplify")),
    (f"crawl x --exclude {'(' * 500}{')' * 500}", 2, ("--exclude", "'((((((", "recursion", "simplify")),
    ("check callbacks --rule redirect", 2, ("--rule", "redirect")),
    ("check callbacks --rule ''", 2, ("--rule",)),
    ("serve --pages 0", 2, ("--pages",)),
    ("serve --control-port 0", 2, ("--control-port", "secret", "INFLIGHT_CONTROL_SECRET")),
    ("serve --fault drop=1", 2, ("--fault", "drop")),
    ("serve --redirects 2", 2, ("--redirects",)),
    ("serve --port 99999", 2, ("--port", "99999")),
    ("serve --port {taken}", 2, ("127.0.0.1:{taken}", "--port")),
    ("serve --ports 0", 2, ("--ports",)),
    ("serve --host a..b", 2, ("--host", "a..b")),
    # run
    ("run smok", 2, ("'smok'", '"smoke"')),
    ("run -q smok", 2, ("'smok'", '"smoke"')),
    ("run no.toml", 2, ("no.toml",)),
    ("run .", 2, ("directory",)),
    ("run wrong.toml", 2, ("wrong.toml", '"round"', '"rounds"')),
    ("run none.toml", 2, ("strategies", "in flight")),
    ("run --resume nowhere", 2, ("nowhere", "not a run", "experiment.toml")),
    ("run --resume .", 2, ("not a run", "experiment.toml")),
    ("run --resume half", 2, ("half", "not a run", "machine.json")),
    ("run --resume rubbish", 2, ("rubbish/rows.jsonl, line 1",)),
    ("run --resume x --rounds 2", 2, ("--resume", "leave out")),
    ("run smoke --out file/x", 2, ("cannot write", "file/x")),
    ("run smoke --out /proc/x", 2, ("/proc/x", "--out")),
    # report, race, advise
    ("report empty", 2, ("empty", "not a run")),
    ("report --results empty", 2, ("no run", "empty")),
    *(
        (f"report base --format {form} --output nowhere/page", 2, ("cannot write", "nowhere/page"))
        for form in ("html", "md", "csv", "json", "parquet")
    ),
    ("report backlog", 2, ("backlog/rows.jsonl, line 1", "measured.backlog.at_ns", "null")),
    ("report users", 2, ("users/rows.jsonl, line 1", "workload.users", ">= 1")),
    *(
        (f"report service --format {form}", 2, ("service/rows.jsonl, line 2", "measured.service", "array"))
        for form in ("html", "csv")
    ),
    ("report .", 2, ("not a run", "contains runs")),
    ("race nowhere", 2, ("nowhere", "not a run")),
    ("race memory", 2, ("memory", "no two strategies")),
    ("race raced --strategy callbacks", 2, ("raced", "no two strategies")),
    ("race raced --strategy callbacks,thread_pool", 2, ("--strategy", "a list")),
    ("race raced --out file/inside", 2, ("--out", "file/inside/race.html")),
    ("race --strategy callbacks", 2, ("a race needs two",)),
    # compare
    ("compare", 2, ("two or more runs", "folders", "files of rows")),
    ("compare base", 2, ("two or more runs",)),
    ("compare a b", 2, ("a", "not a run")),
    ("compare -q a b", 2, ("a", "not a run")),
    ("compare base nowhere", 2, ("nowhere", "not a run")),
    ("compare base file", 2, ("file", "no valid row among 0")),
    ("compare base empty", 2, ("empty", "not a run")),
    ("compare base none", 2, ("none", "no valid row among 0")),
    ("compare base invalid", 2, ("invalid", "no valid row among 2")),
    ("compare base others", 2, ("base and others", "in common")),
    ("compare base probes", 2, ("probes", "in common")),
    ("compare base newer", 2, ("newer", f"format {rows.FORMAT + 1}")),
    ("compare base needy.py", 2, ("needy.py, line 1", "not a row")),
    ("compare base brace", 2, ("machine.json", "does not describe a machine")),
    ("compare base list", 2, ("does not describe a machine",)),
    # ab, claims, selftest
    ("ab callbacks@ callbacks", 2, ("callbacks@", "no revision")),
    ("ab callbacks generators --metric speed", 2, ("--metric", "'speed'", "cpu_per_page")),
    ("ab callbacks callbacks --out file/results", 2, ("cannot write", "file/results")),
    ("claims race", 2, ("'race'", '"races"')),
    ("claims c10k --quick", 2, ("c10k", "--quick")),
    ("claims races --strategy callbacks", 2, ("races", "--strategy")),
    ("claims races --free-threaded python-of-nobody", 2, ("--free-threaded", "python-of-nobody")),
    ("claims races --python python-of-nobody", 2, ("--python", "python-of-nobody")),
    ("claims no-gil --free-threaded {python}", 2, ("--free-threaded", "{python}", "global interpreter lock")),
    ("selftest --python a --python b --python c", 2, ("--python", "twice")),
    # limits, swarm
    ("limits thread", 2, ("'thread'", '"threads"')),
    ("limits luck", 2, ("'luck'", "threads, descriptors, ports, backlog, memory")),
    ("limits memory --out /proc/nowhere", 2, ("/proc/nowhere",)),
    ("limits --dance", 2, ("--dance",)),
    ("swarm --in-flight 10 --ramp fast", 2, ("--ramp", "5000/s", "'fast'")),
    ("swarm --in-flight 10 --ramp 0/s", 2, ("--ramp", "from 1 to")),
    ("swarm --in-flight 10 --processes 11", 2, ("11 processes", "10 fetches")),
    ("swarm --quiet --in-flight 10 --web {taken}", 2, ("127.0.0.1:{taken}",)),
    ("swarm --in-flight 10 --memory-budget 1MB", 2, ("memory", "callbacks 0")),
]

HEAD = "STACK = 'own'\nREQUIRES = ()\n"
FILES = {
    "file": "",
    "wrong.toml": "round = 1\n[[crawl]]",
    "none.toml": "strategies = ['sequential']\n[[crawl]]\nin_flight = [2]",
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
MACHINES = {"brace": "{", "list": "[]"}
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
    """Return a folder with all that the table names."""
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
        **{name: noisy_run(2) for name in MACHINES},
    }  # fmt: skip
    for name, found in runs.items():
        saved(place / name, found)
    (place / "base" / "experiment.toml").write_text('about = "made"\n', encoding="utf-8")
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
    for name, machine in MACHINES.items():
        (place / name / MACHINE_FILE).write_text(machine, encoding="utf-8")
    repository = new_repository(place / "repository")
    (repository / "notes").write_text("not a strategy\n", encoding="utf-8")
    commit(repository, "changes no strategy")
    return place


@pytest.fixture(scope="module")
def known() -> Iterator[dict[str, object]]:
    """Return what the table names in braces: ports that are taken, and this interpreter."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield {"taken": taken.getsockname()[1], "python": sys.executable}


def files_of(place: Path) -> list[Path]:
    """Return the files of a folder, without those that the import of a strategy compiles."""
    return sorted(path for path in place.rglob("*") if "__pycache__" not in path.parts)


@pytest.mark.parametrize(("words", "code", "names"), TABLE, ids=[f"{words} -> {code}" for words, code, _ in TABLE])
def test_the_answer_names(words: str, code: int, names: tuple[str, ...], place: Path, known: dict[str, object]) -> None:
    before = files_of(place)

    done = call(*shlex.split(words.format(**known)), folder=place, columns=100)

    assert done.code == code
    told = done.sentence if code == 2 else done.out
    assert [name for name in names if name.format(**known) not in told] == [], told
    assert code == 2 or done.err == ""
    assert files_of(place) == before


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
