"""The files of a run's folder beside its rows. A page is also made without those that are missing or damaged."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inflight.bench.ab import rates
from inflight.bench.claims.verdicts import JSON_FILE, ClaimsError, Report, load
from inflight.bench.rows.files import MACHINE_FILE, SELFTEST_FILE, file_in

EXPERIMENT_FILE, VERDICT_FILE, COMPARISON_FILE = "experiment.toml", "verdict.json", "compare.json"


@dataclass(frozen=True, slots=True)
class Extras:
    """The contents of a run's folder beside rows and machine, for its page."""

    name: str
    experiment_toml: str | None = None
    claims: Report | None = None
    selftest: dict[str, Any] | None = None
    """As in ``selftest.json``."""
    verdict: dict[str, Any] | None = None
    """As ``inflight ab`` leaves it in ``verdict.json``."""
    comparison: dict[str, Any] | None = None
    """As ``inflight compare --out`` leaves it in ``compare.json``."""
    rows_path: str = ""
    """Path of the rows, shown by a page that has no room for them."""
    so_far: str = ""
    """What a page of a run that is not complete says first."""
    missing: tuple[str, ...] = ()
    """One sentence for each file that is missing or cannot be read."""


@dataclass(slots=True)
class _Reading:
    """A folder, and sentences about the files that could not be read so far."""

    folder: Path
    missing: list[str] = field(default_factory=list)

    def text(self, name: str, *, needed: bool) -> str | None:
        """Return the text of a file; None, with a sentence in ``missing``, if it is unreadable or needed and absent."""
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            self.missing += [f"{name} is missing."] if needed else []
        except OSError as error:
            self.missing.append(f"{name} cannot be read: {error.strerror}.")
        except UnicodeDecodeError:
            self.missing.append(f"{name} is damaged: it is not text.")
        return None

    def values(self, name: str, *, needed: bool = False) -> dict[str, Any] | None:
        """Return the JSON object of a file, in the same way."""
        if (text := self.text(name, needed=needed)) is None:
            return None
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            self.missing.append(f"{name} is damaged: it is not JSON.")
            return None
        if not isinstance(found, dict):
            self.missing.append(f"{name} is damaged: it is not a JSON object.")
            return None
        return found


def read(folder: Path) -> tuple[dict[str, Any], Extras]:
    """Return the machine of a run (empty if unknown), and the other contents of its folder."""
    reading = _Reading(folder)
    machine = _machine(reading)
    return machine, Extras(
        name=folder.resolve().name,
        experiment_toml=reading.text(EXPERIMENT_FILE, needed=True),
        claims=_claims(reading),
        selftest=_selftest(reading),
        verdict=reading.values(VERDICT_FILE),
        comparison=reading.values(COMPARISON_FILE),
        rows_path=f"{folder.resolve().name}/{file_in(folder).name}",
        missing=tuple(reading.missing),
    )


def _machine(reading: _Reading) -> dict[str, Any]:
    """Return the machine; an empty dict if a value that others depend on has the wrong type."""
    machine = reading.values(MACHINE_FILE, needed=True) or {}
    command = machine.get("command") or []
    texts = [machine.get(name) or "" for name in ("host", "system", "cpu", "python")]
    if (
        not isinstance(machine.get("versions") or {}, dict)
        or not isinstance(command, list)
        or not all(isinstance(text, str) for text in texts)
    ):
        reading.missing.append(f"{MACHINE_FILE} is damaged: it is not what a run writes.")
        return {}
    return machine | {"command": list(map(str, command))}


def _claims(reading: _Reading) -> Report | None:
    if not (reading.folder / JSON_FILE).is_file():
        return None
    try:
        return load(reading.folder)
    except ClaimsError:
        reading.missing.append(f"{JSON_FILE} is damaged: it is not what `inflight claims` writes.")
        return None


def _selftest(reading: _Reading) -> dict[str, Any] | None:
    """Return the self-test, or None if its format is not the expected one."""
    found = reading.values(SELFTEST_FILE)
    if found is None:
        return None
    try:
        rates.sections(found)
    except (AttributeError, KeyError, TypeError, ValueError):
        reading.missing.append(f"{SELFTEST_FILE} is damaged: it is not what `inflight selftest` writes.")
        return None
    return found
