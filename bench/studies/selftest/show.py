"""What a self-test found, as text: error rates, noise, and what can be resolved in how much time."""

from collections.abc import Mapping
from typing import Any

from bench.core import units
from bench.present import words
from bench.studies.clients import show as clients
from bench.studies.compare import effect
from bench.studies.compare.decide import DESIGNED
from bench.studies.compare.read import Block
from bench.studies.compare.show import changes_told, planted_told

_MS = 1_000_000
LIMITS = {
    "noise": ", limited by noise",
    "least": ", limited by the 2 % below which nothing is called a regression",
    "pass": ", limited by comparisons that pass first, because B is at most 5 % worse",
}
"""What keeps a smaller slowdown from being found; a self-test of before has not asked."""


def line(name: str, block: Block, good: int, wanted: int) -> str:
    """Return what one block brought, while a self-test goes on."""
    figures = changes_told(block) if block.good else f"left out: {words.plain('; '.join(block.reasons), 100)}"
    return f"{name:<20} {good:>3}/{wanted}  {figures}"


def text(found: Mapping[str, Any]) -> str:
    """Return the whole result."""
    machine = found["machine"]
    where = f"{machine['cpu']}, {machine['usable_cores']} cores, {machine['system']}, {machine['python']}"
    when = f"{found['made_at'][:16].replace('T', ' ')} UTC"
    head = ["inflight selftest", f"{where}; {when}", _about_blocks(found)]
    head += [words.neighbour(kind)] if (kind := machine.get("neighbour")) else []
    parts = [_alarms(found), _detection(found), _noise(found), _resolves(found), _rest(found)]
    if found.get("clients") is not None:  # older self-tests asked no other clients
        parts.append(clients.text(found["clients"], found["server_ceiling_per_s"]))
    return "\n".join([*head, *("\n" + part for part in parts)])


def _about_blocks(found: Mapping[str, Any]) -> str:
    dropped = found["dropped"]
    told = f"{dropped['tried']} blocks tried, {dropped['left_out']} left out"
    reasons = sorted(dropped["reasons"].items(), key=lambda item: -item[1])[:3]
    told += f" ({'; '.join(f'{words.plain(reason, 60)}: {number}' for reason, number in reasons)})" if reasons else ""
    return told + (f"; TOO FEW good blocks: {', '.join(found['too_few'])}" if found["too_few"] else "")


def _alarms(found: Mapping[str, Any]) -> str:
    alarms = found["false_alarms"]
    lines = [f"false alarms, both sides {found['strategy']} (designed: at most 0.5 %)"]
    for kind, about in (("real", "real decisions, one after another on"), ("resampled", "decisions simulated with")):
        one = alarms[kind]
        bound = f" (rate at most {one['upper']:.1%} with 95 % confidence)" if kind == "real" else ""
        lines.append(
            f"  {one['alarms']} alarms in {one['decisions']} {about} {one['blocks']} blocks{bound}; "
            f"{one['passes']} passed, {one['inconclusive']} inconclusive, {one['mean_blocks']:.1f} blocks each"
        )
    return "\n".join(lines)


def _detection(found: Mapping[str, Any]) -> str:
    lines = ["planted slowdowns, a loop added to each page of side B"]
    for size, one in found["detection"].items():
        seen = "not measured" if one["seen"] is None else f"seen as {planted_told(one)} more CPU time per page"
        real = one["real"]
        lines.append(
            f"  {seen}, over {one['blocks']} blocks (asked for: about {size} %); found in {one['share']:.1%} of "
            f"{one['decisions']} simulated decisions, {one['mean_blocks']:.1f} blocks each; "
            f"real ones: {real['alarms']} of {real['decisions']}"
        )
    return "\n".join(lines)


def _noise(found: Mapping[str, Any]) -> str:
    lines = ["block noise (SD), and how long a block takes"]
    for name, noise in found["noise"].items():
        figures = ", ".join(f"{effect.named(metric)} {100 * sd:.1f} %" for metric, sd in noise.items())
        taken = found["block_s"][name]
        memory = f" + {taken['memory']:.1f} s for memory" if taken["memory"] else ""
        lines.append(f"  {name:<16} {figures}; {taken['slices']:.1f} s{memory}")
    controls = ", ".join(f"{name} {100 * sd:.1f} %" for name, sd in found["controls"].items())
    return "\n".join([*lines, f"  {'controls':<16} {controls}"])


def _resolves(found: Mapping[str, Any]) -> str:
    lines = [f"the least slowdown of {found['strategy']} that is found {DESIGNED.power:.0%} of the time"]
    for one in found["resolves"]:
        if one["smallest"] is None:
            lines.append(f"  {one['minutes']:>2} min: not enough for the 12 blocks that a verdict needs")
            continue
        what = "" if "memory" in one["metrics"] else ", memory left out"
        limit = LIMITS.get(one.get("limited_by"), "")
        size = 100 * (max(one["smallest"], 1.02) - 1)
        lines.append(f"  {one['minutes']:>2} min: {size:.1f} % (up to {one['blocks']} blocks{what}){limit}")
    return "\n".join(lines)


def _rest(found: Mapping[str, Any]) -> str:
    late, extra = found["lateness"], found["overhead"]
    ceiling = found["server_ceiling_per_s"]
    lateness = "unknown" if late["p99"] is None else f"p50 {late['p50'] / _MS:.2f} ms, p99 {late['p99'] / _MS:.2f} ms"
    red = "" if late["valid"] else " (the trial is red)"
    capacity = "unknown" if ceiling is None else f"{units.number(ceiling, 3)} responses/s"
    share = "an unknown share" if extra["share"] is None else f"{extra['share']:.1%}"
    cost = f"{extra['per_fetch_ns'] / 1000:.2f} µs a fetch, {share} of the CPU time of {found['strategy']}"
    return "\n".join(
        [
            f"server ceiling, by a null client: {capacity}",
            f"timer lateness, 1,000 in flight at 50 ms: {lateness}{red}",
            f"harness overhead: {cost} (target: at most 1 µs and 1 %)",
        ]
    )
