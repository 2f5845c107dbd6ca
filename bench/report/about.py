"""The parts of a report about its rows: validity checks, invalid trials, the machine, and how to reproduce the run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inflight.bench.core import units
from inflight.bench.present import words
from inflight.bench.present.section import Detail, Section
from inflight.bench.present.table import Cell, Line, Table
from inflight.bench.report import provenance
from inflight.bench.report.check_words import MEANINGS
from inflight.bench.rows.files import Row

MOST_INVALID = 12
"""Maximum number of invalid trials shown of a check, and of reasons; the rest are counted."""
MOST_EXPLAINED = 12
"""Maximum number of strategies whose invalid trials are explained; the rest are counted."""
EXCLUDED = "A trial with a failed check is excluded from all findings. Its row stays in the raw data."
_ABOUT_THE_RUN = frozenset({"command", "versions"})
"""Values of ``machine.json`` that do not describe the machine; shown elsewhere."""
_NAMES = {"python": "Python of the harness", "commit": "commit of inflight", "somaxconn": "longest queue of listen(2)"}
"""Names of values of ``machine.json`` whose keys would be misread."""


# Invalid trials


def nothing_valid(rows: Sequence[Row]) -> str:
    """Say that no conclusion can be drawn; empty where a trial is valid."""
    if not rows:
        return "No trial has been run: there is nothing to show."
    if any(row.valid for row in rows):
        return ""
    return f"No valid trial among {units.count(len(rows))}: nothing here supports a conclusion."


def about_invalid(rows: Sequence[Row]) -> list[str]:
    """Say for each strategy how many of its trials are invalid, and why."""
    by_strategy: dict[tuple[str, bool], list[Row]] = {}
    for row in rows:
        by_strategy.setdefault((row.strategy, bool(row.of_comparison)), []).append(row)
    has_sides = any(is_side for _, is_side in by_strategy)
    told = [
        f"{words.plain(name, 30)}: {bad}."
        for (name, is_side), own in sorted(by_strategy.items())
        if (bad := _about_bad(own, " outside of comparisons" if has_sides and not is_side else " in this run"))
    ]
    if len(told) > MOST_EXPLAINED:
        told = [
            *told[:MOST_EXPLAINED],
            f"{len(told) - MOST_EXPLAINED} more strategies have invalid trials; the rows say why.",
        ]
    return told


def _about_bad(own: Sequence[Row], where: str) -> str:
    """Say how many trials of a strategy are invalid, how many were skipped, and why; empty if all are valid."""
    skipped = [row for row in own if row.status == "skipped"]
    invalid = [row for row in own if not row.valid and row.status != "skipped"]
    told = [f"{_of(len(invalid), len(own), where)} invalid: {_reasons(invalid)}"] if invalid else []
    if skipped:
        which = "the only trial was" if len(own) == 1 else f"all {len(own)} trials were"
        which = which if len(skipped) == len(own) else f"{len(skipped)} of {len(own)} trials were"
        reasons = Counter(words.plain(row.reason or "no reason given", 120) for row in skipped)
        common = reasons.most_common(3)
        why = [f"{reason} ({words.counted(n, 'trial')})" if len(reasons) > 1 else reason for reason, n in common]
        told.append(f"{which} skipped: {'; '.join(why)}")
    return "; ".join(told)


def _of(some: int, all_: int, where: str) -> str:
    return (
        f"{'the only trial is' if all_ == 1 else f'all {all_} trials are'}"
        if some == all_
        else f"{some} of its {all_} trials{where} {'is' if some == 1 else 'are'}"
    )


def _reasons(bad: Sequence[Row]) -> str:
    """List the kinds of reasons, the most frequent first, each with its number and one example."""
    kinds: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for row in bad:
        for reason in row.invalid_reasons:
            kind, _, detail = reason.partition(": ")
            kinds[kind] += 1
            examples.setdefault(kind, detail)
    texts = [_reason(kind, number, words.plain(examples[kind], 90)) for kind, number in kinds.most_common(3)]
    more = f"; {words.counted(len(kinds) - 3, 'more kind')}" if len(kinds) > 3 else ""
    return "; ".join(texts) + more


def _reason(kind: str, number: int, example: str) -> str:
    times = f" {number} times" if number > 1 else ""
    return f"{kind}{times}" + (f" ({'such as ' if number > 1 else ''}{example})" if example else "")


# Validity


@dataclass(frozen=True, slots=True)
class Judged:
    """One check over all rows with checks: the numbers of passed and not applicable ones, and the failed ones."""

    name: str
    passed: int
    not_applicable: int
    invalid: tuple[tuple[str, str], ...]
    """(trial, detail)"""


def validity(rows: Sequence[Row]) -> Section:
    """Return what failed, what is excluded for it, and, folded, the checks that passed."""
    if not rows:
        return Section("", first=("No trial has been run, so nothing has been checked.",))
    found = judged(rows)
    invalid, green = [one for one in found if one.invalid], [one for one in found if one.passed and not one.invalid]
    tables = (_checks("Checks that failed", invalid), _invalid(found), endings(rows))
    return Section(
        valid_told(rows),
        tuple(table for table in tables if table.lines),
        (EXCLUDED,) if invalid else (),
        details=(_green(green, found),) if green else (),
    )


def _green(green: Sequence[Judged], found: Sequence[Judged]) -> Detail:
    """Return the checks that no trial failed, folded into one line."""
    passed = words.counted(len(green), "check")
    is_all = len(green) == len([one for one in found if one.passed or one.invalid])
    told = f"All {passed}" if is_all and len(green) > 1 else passed
    unused = [words.plain(one.name, 80) for one in found if not one.passed and not one.invalid]
    about = (f"Not applicable to any trial of this run: {words.listed(unused)}.",) if unused else ()
    summary = f"{told} passed in every trial to which {'it applies' if len(green) == 1 else 'they apply'}"
    return Detail(summary, about, tables=(_checks("Checks that passed", green),))


def valid_told(rows: Sequence[Row]) -> str:
    """Say how many of the trials are valid."""
    are = "trial is" if len(rows) == 1 else "trials are"
    return f"{units.count(sum(row.valid for row in rows))} of {units.count(len(rows))} {are} valid"


def judged(rows: Sequence[Row]) -> list[Judged]:
    """Count the verdicts of each check: checks with invalid rows first, then those that passed."""
    verdicts: dict[str, Counter[str]] = {}
    invalid: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        for check in row.checks:
            verdicts.setdefault(check.name, Counter())[check.verdict] += 1
            if check.verdict == "failed":
                invalid.setdefault(check.name, []).append((row.trial, check.detail))
    checked = sum(bool(row.checks) for row in rows)
    found = [
        Judged(
            name, counts["passed"], max(0, checked - counts["passed"] - counts["failed"]), tuple(invalid.get(name, ()))
        )
        for name, counts in verdicts.items()
    ]
    return sorted(found, key=lambda one: (-len(one.invalid), not one.passed))


def _checks(title: str, found: Sequence[Judged]) -> Table:
    lines = tuple(
        (
            Cell(f"{_sign(one)} {words.plain(one.name, 80)}", MEANINGS.get(one.name, ""), red=bool(one.invalid)),
            units.count(one.passed),
            Cell(units.count(len(one.invalid)), red=bool(one.invalid)),
            units.count(one.not_applicable),
        )
        for one in found
    )
    return Table(title, ("check", "passed", "failed", "not applicable"), lines)


def _sign(one: Judged) -> str:
    return "✗" if one.invalid else "✓" if one.passed else "–"  # noqa: RUF001  (a dash: neither)


def _invalid(found: Sequence[Judged]) -> Table:
    lines: list[Line] = []
    for one in found:
        name = words.plain(one.name, 80)
        lines += [
            (words.plain(trial, 200), name, words.plain(detail, 300)) for trial, detail in one.invalid[:MOST_INVALID]
        ]
        more = len(one.invalid) - MOST_INVALID
        lines += [(f"{units.count(more)} more", name, "see the raw data")] if more > 0 else []
    return Table("Trials that failed, by check", ("trial", "check", "reason"), tuple(lines))


def endings(rows: Sequence[Row]) -> Table:
    """Count the trials that did not end as ``ok``, by status and reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.status != "ok":
            reasons.setdefault((row.status, row.reason or "no reason given"), []).append(row.strategy)
    ordered = sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
    lines: list[Line] = [
        (status, Cell(units.count(len(who)), red=status != "skipped"), _names(who), reason)
        for (status, reason), who in ordered[:MOST_INVALID]
    ]
    if rest := ordered[MOST_INVALID:]:
        number = units.count(sum(len(who) for _, who in rest))
        lines.append(("more", number, "", f"{units.count(len(rest))} other reasons"))
    return Table("Trials that were skipped or failed", ("ended as", "trials", "of", "reason"), tuple(lines))


def _names(who: Sequence[str]) -> str:
    names = [words.plain(name, 30) for name in dict.fromkeys(who)]
    return ", ".join(names[:4]) + (f" and {units.count(len(names) - 4)} more" if len(names) > 4 else "")


# Machine and command


def machine(rows: Sequence[Row], values: Mapping[str, Any]) -> Section:
    """Return the known facts about the machine, and the runs that the rows belong to."""
    lines = [("Python of the workers", provenance.pythons(rows, values))]
    lines += [line for key, value in values.items() if key not in _ABOUT_THE_RUN for line in _lines(key, value)]
    versions = values.get("versions") or {}
    lines += [(words.plain(str(name), 60), str(version)) for name, version in versions.items()]
    days = sorted({row.started_at[:10] for row in rows})
    runs = sorted({row.run for row in rows})
    told = [f"The first trial started on {days[0]}, the last on {days[-1]}."] if len(days) > 1 else []
    told += [f"All trials started on {days[0]}."] if len(days) == 1 else []
    told += [f"The rows belong to {units.count(len(runs))} runs: {', '.join(runs)}."] if len(runs) > 1 else []
    caption = "Machine of the run" if values else "The machine is unknown"
    return Section("", (Table(caption, ("what", "value"), tuple(lines)),), tuple(told))


def reproduce(values: Mapping[str, Any], experiment_toml: str | None) -> Section:
    """Return the command of the run, the version of inflight, and the experiment as it was run."""
    made, version = provenance.command(values), (values.get("versions") or {}).get("inflight-bench")
    told = [f"inflight {version}" if version else "The version of inflight is unknown."]
    details = [Detail("The command", code=(made,), is_open=True)] if made else []
    told += [] if made else ["The command of this run is unknown."]
    if experiment_toml is not None:
        details.append(Detail("The experiment as it was run (experiment.toml)", code=(experiment_toml,)))
    return Section("", first=tuple(told), details=tuple(details))


def _lines(key: str, value: object) -> list[tuple[str, str]]:
    """Return the lines of a value: one, or one for each interpreter."""
    if key == "interpreters" and isinstance(value, Mapping):
        return [(f"interpreter {words.plain(str(name), 40)}", _facts(one)) for name, one in value.items()]
    return [(_name(key), _value(key, value))]


def _facts(values: object) -> str:
    """Write what is known of an interpreter: texts, and the names of the flags that are set."""
    if not isinstance(values, Mapping):
        return _value("", values)
    told = [_name(str(key)) if value is True else str(value) for key, value in values.items() if value]
    return words.plain(", ".join(told), 300)


def _name(key: str) -> str:
    return _NAMES.get(key) or words.plain(key, 60).removesuffix("_bytes").replace("_", " ")


def _value(key: str, value: object) -> str:
    """Write a value of ``machine.json``."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return units.size(value) if key.endswith("_bytes") else units.count(value)
    if key == "ephemeral_ports":
        return " to ".join(str(value).split())
    if key == "commit":
        return words.plain(str(value).replace("-dirty", ", with changes that were not committed"), 100)
    if isinstance(value, list):
        return ", ".join(dict.fromkeys(_value(key, one) for one in value))
    return words.plain(str(value), 300)
