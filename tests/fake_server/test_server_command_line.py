"""The process: how it starts, what it says, and how it ends."""

import resource
import signal
import socket
import subprocess
import sys

import pytest

from inflight.fake_server.__main__ import main
from tests.fake_server.running import Running, Start, get, read_response
from tests.processes import run_to_end

COMMAND = [sys.executable, "-m", "inflight.fake_server"]


def test_it_ends_when_stdin_is_empty_from_the_start() -> None:
    command = [*COMMAND, "--port", "0", "--exit-with-stdin"]

    assert subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize(
    ("command", "closed"),
    [
        (COMMAND, "<&-"),
        (COMMAND, "<&- >&-"),
        (COMMAND, "<&- >&- 2>&-"),
        ([sys.executable, "-m", "inflight", "serve"], "<&- >&-"),
    ],
)
def test_a_closed_stdin_counts_as_one_that_has_ended(command: list[str], closed: str) -> None:
    options = ["--port", "0", "--exit-with-stdin", "--ready-line"]

    done = run_to_end(["sh", "-c", f'exec "$@" {closed}', "sh", *command, *options])

    assert (done.returncode, done.stderr) == (0, "")


def test_too_few_descriptors_for_an_event_loop_are_one_sentence() -> None:
    command = [
        "sh",
        "-c",
        'ulimit -n 8; exec "$@"',
        "sh",
        *COMMAND,
        "--port",
        "0",
        "--exit-with-stdin",
    ]

    done = run_to_end(command, stdin=subprocess.DEVNULL)

    assert done.returncode == 2
    assert done.stderr == "RLIMIT_NOFILE (ulimit -Hn) is 8, and a server needs 64; raise the limit\n"


@pytest.mark.parametrize("closed", ["<&-", "<&- >&-"])
def test_signals_end_it_cleanly_without_standard_streams(closed: str) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while process.stderr.readline() != "Ctrl-C stops\n":
            pass
        process.send_signal(signal.SIGTERM)

        assert process.wait() == 0
        assert process.stderr.read() == ""


def test_a_stdin_that_another_process_made_non_blocking_has_not_ended() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        command = [*COMMAND, "--port", "0", "--exit-with-stdin"]
        with subprocess.Popen(
            command,
            stdin=theirs.fileno(),
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr is not None
            port = int(process.stderr.readline().rpartition(":")[2].strip().strip("/"))
            ours.sendall(b"ignored")
            with socket.create_connection(("127.0.0.1", port)) as sock:
                sock.sendall(get("/p/1"))
                assert read_response(sock)[0] == 200
            ours.close()

            assert process.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_cleanly_even_with_clients(start: Start, number: signal.Signals) -> None:
    server = start()
    server.do("hold")
    with server.connect() as sock:
        sock.sendall(get())
        server.stats_when(lambda stats: stats["in_flight"] == 1)

        server.process.send_signal(number)

        assert server.process.wait() == 0
    server.stop()


def test_a_taken_port_is_one_sentence_and_exit_2(server: Running) -> None:
    command = [*COMMAND, "--port", str(server.port)]

    done = run_to_end(command)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"cannot listen on 127.0.0.1:{server.port}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fault", "drip"], '"drip" is no fault; write KIND=SHARE'),
        (["--fault", "drip=much"], '"drip=much" is no fault'),
        (["--fault", "drop=0.1"], "unknown fault 'drop'"),
        (["--pages", "0"], "pages must be between 1"),
        (["--latency", "soon"], '"soon" is not a latency'),
        (["--drip", "soon"], '"soon" is not a duration'),
        (["--idle-timeout", "soon"], '"soon" is not a duration'),
        (["--port", "99999"], "port"),
        (["--host", ""], "is not a host name or an address\n"),
        (["--host", "a\udcff"], "is not a host name or an address\n"),
        (["--host", "a..b"], "is not a host name or an address\n"),
    ],
)
def test_bad_options_are_refused(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main(options)

    assert message in capsys.readouterr().err


def test_the_ready_line_is_all_there_is_on_stdout(start: Start) -> None:
    server = start(
        "--pages",
        "5",
        "--fault",
        "drip=0.5",
        "--fault",
        "chunked=0.25",
        "--body-bytes",
        "500",
    )

    assert set(server.ready) == {"port", "ports", "control_port", "pid"}
    assert server.ready["pid"] == server.process.pid
    with server.connect() as sock:
        sock.sendall(get("/"))
        assert len(read_response(sock)[2]) == 500
    assert server.process.stdin is not None
    server.process.stdin.close()
    assert server.process.stdout is not None
    assert server.process.stdout.read() == b""
    server.process.wait()
    server.stop()


def test_an_ipv6_address_stands_in_brackets_wherever_it_is_named() -> None:
    with subprocess.Popen(
        [*COMMAND, "--host", "::1", "--port", "0", "--ports", "2", "--exit-with-stdin"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stdin is not None
        told = [process.stderr.readline() for _ in range(3)]
        port = told[1].rpartition(":")[2].partition("/")[0]
        taken = run_to_end([*COMMAND, "--host", "::1", "--port", port])
        process.stdin.close()
        assert process.wait() == 0

    assert told[0].count(" http://[::1]:") == 2
    assert told[1].startswith("try: curl -i http://[::1]:")
    assert taken.stderr.startswith(f"cannot listen on [::1]:{port}: ")


def test_listening_beyond_this_machine_is_warned_about() -> None:
    command = [*COMMAND, "--host", "0.0.0.0", "--port", "0", "--exit-with-stdin"]

    done = run_to_end(command, input="")

    assert done.returncode == 0
    assert "warning: 0.0.0.0 may be reached by other machines" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are read from /proc")
def test_it_takes_all_the_descriptors_it_may_have(server: Running) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    assert resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)[0] == hard


@pytest.mark.skipif(sys.platform != "linux", reason="one listening socket elsewhere")
def test_thousands_who_connect_at_once_all_get_in(server: Running) -> None:
    server.process.send_signal(signal.SIGSTOP)  # so that nobody is accepted yet
    socks = []
    try:
        for _ in range(3000):
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", server.port))
            socks.append(sock)
    finally:
        server.process.send_signal(signal.SIGCONT)
    server.stats_when(lambda stats: stats["connections"] == 3000)
    for sock in socks:
        sock.setblocking(True)
        sock.sendall(get("/p/1"))
    for sock in socks:
        assert read_response(sock)[0] == 200
        sock.close()
