"""Track the processes of a swarm: Locust's master, its workers (nodes), and the shares that the nodes run.

The harness exchanges messages with the master through a pipe, and through the master with the nodes (``node``
documents them). ``Crowd.listen`` processes the messages and updates the state of each node and share. A process, server
or node that ends early is added to ``lost``, one that joins too late to ``late``.
"""

import contextlib
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import psutil

from inflight.bench.measure import host, process
from inflight.bench.measure.locust.hosting import Hosting, address_text
from inflight.bench.measure.locust.identity import difference, identity
from inflight.bench.measure.process import without_subject
from inflight.bench.measure.swarm.layout import Share
from inflight.bench.measure.swarm.pulse import Pulse

START_S = 120.0
"""Timeout for the Locust workers of this machine to join. One that ends before is noticed at once."""
PATIENCE_S = 15.0
"""Time that a Locust worker waits for a master to listen."""
GONE_S = 20.0
"""Timeout for our processes to end when told to, after which they are killed."""
QUIT_S = 10.0
"""Timeout for each Locust worker of this machine to end when the master quits."""
_MASTER, _NODE = ("inflight.bench.measure.locust.master",), ("inflight.bench.measure.locust.node",)

Stage = Literal["waiting", "starting", "ready", "going", "crawled", "lost"]


class CrowdError(process.TrialError):
    """A swarm that cannot be started or cannot go on; the message says why."""


@dataclass
class Node:
    """A Locust worker that has introduced itself."""

    name: str
    host: str
    pid: int
    said: dict[str, Any] = field(default_factory=dict)
    """Its last answer of each kind."""
    present: bool = True


@dataclass
class ShareState:
    """The state of a share: its node, its stage, and the number of fetches that its gate holds."""

    share: Share
    stage: Stage = "waiting"
    node: str | None = None
    held: int = 0
    failed: int = 0
    """Number of fetches that have failed, which the gate will never hold."""
    user: int = 0
    """The number of its Locust user on its node."""
    knobs: dict[str, Any] = field(default_factory=dict)
    outcome: dict[str, Any] | None = None
    server: dict[str, Any] | None = None

    @property
    def full(self) -> bool:
        """Whether its gate holds all fetches that have not failed."""
        return self.held + self.failed >= self.share.count


class Crowd:
    """The processes of one swarm. Use ``gathered()`` to get one."""

    def __init__(self, master: process.Worker, port: int, silence_s: float) -> None:
        self.port = port
        self.nodes: dict[str, Node] = {}
        self.shares: list[ShareState] = []
        self.lost: list[dict[str, Any]] = []
        self.late: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self.statistics: dict[str, int] | None = None
        self.begin_ns: int | None = None
        """The start of the fetches, from which the times of losses count."""
        self._master = master
        self._master_pulse = Pulse(master.pid)
        self._silence_s = silence_s
        self._locals: dict[int, tuple[process.Worker, Pulse]] = {}
        self._order: Mapping[str, Any] = {}
        self._ours = identity()
        self._children: list[psutil.Process] = []
        self._spawned = False
        self._joined_names: set[str] = set()

    # Orders of the harness

    def add_local(self, node: process.Worker) -> None:
        """Watch a node of this machine."""
        self._locals[node.pid] = node, Pulse(node.pid)

    def spawn(self, shares: Sequence[Share], order: Mapping[str, Any]) -> None:
        """Let Locust start a user for each share; ``order`` has the values that all shares have in common."""
        self.shares += [ShareState(share) for share in shares]
        self._order, self._spawned = order, True
        self._master.send({"do": "spawn", "users": len(shares), "nodes": [node.name for node in self.present]})

    def go(self, state: ShareState) -> None:
        """Start a share's crawl."""
        assert state.node is not None
        state.stage = "going"
        self._tell(state.node, {"do": "go", "share": state.share.index})

    def tell_all(self, message: dict[str, Any]) -> None:
        """Send the same message to all nodes that are present."""
        for node in self.present:
            self._tell(node.name, message)

    def ask_statistics(self) -> None:
        """Ask for Locust's statistics, which ``listen`` receives."""
        self.statistics = None
        self._master.send({"do": "statistics"})

    # State

    @property
    def locust_version(self) -> str:
        """The version of Locust, which is the same on all machines."""
        return self._ours["locust"]

    @property
    def present(self) -> list[Node]:
        """The nodes that have joined and are not lost."""
        return [node for node in self.nodes.values() if node.present]

    def alive(self, *stages: Stage) -> list[ShareState]:
        """Return the shares that are in one of these stages."""
        return [state for state in self.shares if state.stage in stages]

    @property
    def bereft(self) -> list[ShareState]:
        """The shares that lost their server, and whose strategy process has not reported its outcome yet."""
        servers = {loss["share"] for loss in self.lost if loss["what"] == "server"}
        return [state for state in self.shares if state.share.index in servers and state.outcome is None]

    @property
    def held(self) -> int:
        """Number of fetches that the gates hold."""
        return sum(state.held for state in self.shares if state.stage != "lost")

    def said_by_all(self, word: str) -> list[dict[str, Any]] | None:
        """Return the answers of this kind of all nodes that are present; None until all have answered."""
        answers = [node.said.get(word) for node in self.present]
        return [answer for answer in answers if answer is not None] if all(answers) else None

    def forget(self, word: str) -> None:
        """Forget earlier answers of this kind, before asking again."""
        for node in self.nodes.values():
            node.said.pop(word, None)

    # Messages

    def listen(self, seconds: float) -> None:
        """Process messages for this time. Raises CrowdError when Locust's master has ended or is frozen."""
        until_s = time.monotonic() + seconds
        while True:
            self._look_after_master()
            self._look_after_locals()
            left_s = until_s - time.monotonic()
            if self._master.wait_for_word(max(0.0, left_s)):
                message = self._hear()
                _EVENTS[message.pop("event")](self, **message)
            elif left_s <= 0:
                return

    def _hear(self) -> dict[str, Any]:
        try:
            return self._master.hear("event")
        except process.WorkerTimeoutError:
            raise
        except process.WorkerError as error:
            raise CrowdError(f"Locust's master {without_subject(error)}") from error

    def _tell(self, node: str, message: dict[str, Any]) -> None:
        self._master.send({"do": "tell", "node": node, "message": message})

    def _look_after_master(self) -> None:
        if self._master_pulse.stands_still(self._silence_s):
            raise CrowdError(f"Locust's master {_stood_still(self._master_pulse)}")

    def _look_after_locals(self) -> None:
        """Give up a node of this machine when it has ended, or has shown no sign of life for too long."""
        for pid, (local, pulse) in list(self._locals.items()):
            if local.process.poll() is not None:
                self._lose_local(pid, without_subject(local.obituary()))
            elif pulse.stands_still(self._silence_s):
                local.process.kill()
                self._lose_local(pid, f"{_stood_still(pulse)} and was killed")

    def _lose_local(self, pid: int, how: str) -> None:
        del self._locals[pid]
        node = next((node for node in self.present if node.pid == pid), None) or Node("", "", pid)
        self._lose_node(node, how)

    def _is_local(self, node: Node) -> bool:
        return node.pid in self._locals and node.host == socket.gethostname()

    def _left(self, node: str) -> None:
        self._lose_other(node, "left")

    def _silent(self, node: str, seconds: float) -> None:
        self._lose_other(node, f"was silent for {seconds:.0f} s")

    def _lose_other(self, name: str, how: str) -> None:
        """Give up a node of another machine. Nodes of this machine are judged by their processes."""
        node = self.nodes.get(name)
        if node is not None and node.present and not self._is_local(node):
            self._lose_node(node, how)

    def _lose_node(self, node: Node, how: str) -> None:
        node.present = False
        with_it = [state for state in self.shares if state.node == node.name and state.stage not in {"crawled", "lost"}]
        in_flight = sum(state.held for state in with_it)
        self._note_loss("Locust worker", None, node.pid, f"{how}, with {_shares(len(with_it))}", in_flight)
        for state in with_it:
            state.stage = "lost"

    def _note_loss(self, what: str, share: int | None, pid: int | None, how: str, in_flight: int) -> None:
        loss = {"what": what, "share": share, "pid": pid, "how": how, "in_flight": in_flight, "at_ns": self._at_ns()}
        self.lost.append(loss)

    def _at_ns(self) -> int:
        """Return the time since the start of the fetches; 0 before it."""
        return 0 if self.begin_ns is None else time.monotonic_ns() - self.begin_ns

    def _stranger(self, node: str) -> None:
        """Note a Locust worker that did not introduce itself, and was sent away."""
        self.late.append({"what": "foreign Locust worker", "name": node, "at_ns": self._at_ns()})

    def _joined(self, node: str) -> None:
        """Note a Locust worker that has joined and should introduce itself."""
        self._joined_names.add(node)

    @property
    def strangers(self) -> set[str]:
        """The Locust workers that have joined and not introduced themselves."""
        return self._joined_names - set(self.nodes)

    def _said(self, node: str, message: dict[str, Any]) -> None:
        word = message.pop("say")
        if word == "hello":
            self._greet(node, message)
        elif node in self.nodes and word in _WORDS:
            _WORDS[word](self, self.nodes[node], **message)
        elif node in self.nodes:
            self.nodes[node].said[word] = message

    def _greet(self, name: str, hello: dict[str, Any]) -> None:
        pid, where = hello.pop("pid"), hello.pop("host")
        if unlike := difference(self._ours, hello):
            self.refused.append(f"a Locust worker on {where} was refused because it differs: {unlike}")
            self._tell(name, {"do": "note", "text": f"refused by the master: {unlike}", "end": True})
            return
        if self._spawned:
            self.late.append({"what": "Locust worker", "name": name, "at_ns": self._at_ns()})
            self._tell(name, {"do": "note", "text": "joined late: all shares are already assigned", "end": False})
            return
        self.nodes[name] = Node(name, where, pid)
        self._tell(name, {"do": "welcome"})

    def _give_share(self, node: Node, user: int) -> None:
        waiting = self.alive("waiting")
        if not waiting:
            self._tell(node.name, {"do": "take", "user": user, "share": None})
            return
        state = waiting[0]
        state.stage, state.node, state.user = "starting", node.name, user
        self._tell(node.name, {"do": "take", "user": user, "share": {**asdict(state.share), **self._order}})

    def _ready(self, node: Node, share: int, pids: dict[str, int], knobs: dict[str, Any]) -> None:
        state = self.shares[share]
        state.stage, state.knobs = "ready", knobs
        if self._is_local(node):
            with contextlib.suppress(psutil.NoSuchProcess):
                self._children += [psutil.Process(pid) for pid in pids.values()]

    def _gate(self, _node: Node, held: dict[str, int]) -> None:
        for number, count in held.items():
            self.shares[int(number)].held = count

    def _failed(self, node: Node, user: int, fetches: int) -> None:
        for state in self.shares:
            if (state.node, state.user) == (node.name, user):
                state.failed += fetches

    def _crawled(self, _node: Node, share: int, outcome: dict[str, Any], server: dict[str, Any] | None) -> None:
        state = self.shares[share]
        state.outcome, state.server, state.held = outcome, server, 0
        if state.stage != "lost":
            state.stage = "crawled"

    def _lost(self, _node: Node, share: int, what: str, pid: int | None, how: str, in_flight: int) -> None:
        state = self.shares[share]
        if state.stage not in {"lost", "crawled"}:
            state.stage = "lost"
            self._note_loss(what, share, pid, how, in_flight)

    def _statistics(self, **counts: int) -> None:
        self.statistics = counts

    def quit(self) -> None:
        """End Locust: its nodes stop their users, which end their processes."""
        with contextlib.suppress(process.WorkerError):
            self._master.send({"do": "quit"})
        for local, _ in self._locals.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                local.process.wait(QUIT_S)

    def bury(self) -> None:
        """Wait until the processes of this machine's nodes have ended; kill those that have not."""
        _, running = psutil.wait_procs(self._children, timeout=GONE_S)
        for child in running:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(running, timeout=GONE_S)


_WORDS: dict[str, Callable[..., None]] = {
    "share?": Crowd._give_share,  # noqa: SLF001
    "ready": Crowd._ready,  # noqa: SLF001
    "gate": Crowd._gate,  # noqa: SLF001
    "failed": Crowd._failed,  # noqa: SLF001
    "crawled": Crowd._crawled,  # noqa: SLF001
    "lost": Crowd._lost,  # noqa: SLF001
}
_EVENTS: dict[str, Callable[..., None]] = {
    "joined": Crowd._joined,  # noqa: SLF001
    "stranger": Crowd._stranger,  # noqa: SLF001
    "left": Crowd._left,  # noqa: SLF001
    "silent": Crowd._silent,  # noqa: SLF001
    "said": Crowd._said,  # noqa: SLF001
    "statistics": Crowd._statistics,  # noqa: SLF001
}


@contextmanager
def gathered(hosting: Hosting, cpus: host.Cpus, lifetime_s: float) -> Iterator[Crowd]:
    """Start Locust's master and this machine's nodes, and wait until all nodes have joined; end all of them on exit.

    Raises CrowdError when the master cannot listen, or not all nodes join in time.
    """
    silence_s = hosting.patience_s(lifetime_s)
    with ExitStack() as stack:
        order = {"bind": hosting.bind, "port": hosting.port, "web_port": hosting.web_port, "silence_s": silence_s}
        master = stack.enter_context(process.running(_MASTER, order, cpus.server, lifetime_s))
        try:
            listening = master.expect("listening", "port")
        except process.WorkerError as error:
            raise CrowdError(f"Locust's master could not be started: {error}") from error
        crowd = Crowd(master, listening["port"], silence_s)
        stack.callback(crowd.bury)
        for _ in range(hosting.nodes):
            crowd.add_local(stack.enter_context(node_process(hosting.bind, crowd.port, cpus, lifetime_s)))
        _await_nodes(crowd, hosting)
        yield crowd
        crowd.quit()


@contextmanager
def node_process(
    master: str,
    port: int,
    cpus: host.Cpus,
    lifetime_s: float,
    patience_s: float = PATIENCE_S,
    silence_s: float | None = None,
) -> Iterator[process.Worker]:
    """Start a Locust worker that joins a master, for which it waits ``patience_s``; its processes end with it.

    It ends itself when it has not heard of the master for ``silence_s``. None where the master is a process of this
    harness too: then the worker ends with its input.
    """
    divided = {side: None if (own := getattr(cpus, side)) is None else sorted(own) for side in ("server", "client")}
    order = {"host": master, "port": port, "cpus": divided, "patience_s": patience_s, "silence_s": silence_s}
    with process.running(_NODE, order, cpus.server, lifetime_s) as node:
        yield node


def _await_nodes(crowd: Crowd, hosting: Hosting) -> None:
    """Wait until all nodes have introduced themselves. Raises CrowdError."""
    wanted = hosting.workers
    give_up_s = time.monotonic() + (hosting.wait_s if hosting.expect else START_S)
    while len(crowd.present) < wanted:
        crowd.listen(0.1)
        if crowd.lost:
            raise CrowdError(f"a Locust worker of this machine {crowd.lost[0]['how']}")
        if time.monotonic() > give_up_s:
            refused = "".join(f"; {sentence}" for sentence in crowd.refused)
            raise CrowdError(
                f"only {len(crowd.present)} of {wanted} Locust workers joined the master at "
                f"{address_text(hosting.bind, crowd.port)} in time{refused}"
            )


def _stood_still(pulse: Pulse) -> str:
    return f"stood still for {pulse.still_s:.0f} s"


def _shares(number: int) -> str:
    return "1 share" if number == 1 else f"{number} shares"
