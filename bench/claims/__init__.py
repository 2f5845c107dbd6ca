"""The registry of claims: one TOML file a claim, its words and its experiment. The rules: ``bench.analyse.claims``.

A file has ``order``, ``claim``, ``source``, ``published`` and ``about``; a table ``[explanations]`` with a paragraph
for each verdict and perhaps a ``mechanism`` that stands before each of them, where ``{name}`` is filled from the
outcome's values; ``[experiment]`` in the format of ``bench.experiment``; and ``[quick]``, a smaller one, or none.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import experiment as experiments
from bench import judge
from bench.analyse.claims import RULES, WORDS, Outcome, Verdict
from bench.experiment import Experiment
from bench.judge import ExperimentError

FOLDER = Path(__file__).parent
MECHANISM = "mechanism"
_TEXTS = ("claim", "source", "published", "about")
_KEYS = ("order", *_TEXTS, "explanations", "experiment", "quick")
MOST_ORDER = 1000


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim as its file has it."""

    id: str
    order: int
    claim: str
    source: str
    published: str
    about: str
    explanations: dict[str, str]
    experiment: Experiment
    quick: Experiment | None

    def verdict(self, outcome: Outcome) -> Verdict:
        """Return the claim with what became of it."""
        mechanism, told = self.explanations.get(MECHANISM, ""), self.explanations[outcome.verdict]
        explanation = "\n".join(part for part in (mechanism, told) if part)
        return Verdict(self.id, self.claim, self.source, self.published, self.order, self.about, explanation, outcome)


def ids() -> list[str]:
    """Return the ids of all claims that have a rule, in the order of the rules."""
    return list(RULES)


def load(claim_id: str, known_strategies: Iterable[str], folder: Path = FOLDER) -> Claim:
    """Read one claim. Raises ExperimentError with one sentence for whatever is wrong with its name or its file."""
    if claim_id not in RULES:
        raise ExperimentError(f"no claim {claim_id!r}{judge.nearest(claim_id, RULES)}")
    path = folder / f"{claim_id}.toml"
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExperimentError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path.name} is not TOML: {error}") from error
    return parse(values, claim_id, known_strategies, path.name)


def parse(values: Mapping[str, Any], claim_id: str, known_strategies: Iterable[str], where: str) -> Claim:
    """Turn TOML values into a claim. Raises ExperimentError."""
    known = list(known_strategies)
    judge.check_keys(values, _KEYS, where)
    for key in _TEXTS:
        fine = isinstance(values.get(key), str) and values[key].strip()
        judge.need(bool(fine), f"{where}: {key} must be text, not {values.get(key)!r}")
    planned = [_experiment(values, key, claim_id, known, where) for key in ("experiment", "quick")]
    judge.need(planned[0] is not None, f"{where}: it needs an [experiment]")
    assert planned[0] is not None
    return Claim(
        claim_id,
        judge.whole(values.get("order"), 1, MOST_ORDER, f"{where}: order"),
        values["claim"].strip(),
        values["source"].strip(),
        values["published"].strip(),
        values["about"].strip(),
        _explanations(values.get("explanations"), where),
        planned[0],
        planned[1],
    )


def _explanations(table: Any, where: str) -> dict[str, str]:
    where = f"{where}, [explanations]"
    judge.need(isinstance(table, dict), f"{where} must be a table with a paragraph for each verdict")
    judge.check_keys(table, (MECHANISM, *WORDS), where)
    for word in WORDS:
        judge.need(word in table, f'{where}: a paragraph for "{word}" is missing')
    for word, text in table.items():
        judge.need(isinstance(text, str) and bool(text.strip()), f'{where}: "{word}" must be text, not {text!r}')
    return {word: text.strip() for word, text in table.items()}


def _experiment(values: Mapping[str, Any], key: str, claim_id: str, known: list[str], where: str) -> Experiment | None:
    if key not in values:
        return None
    judge.need(isinstance(values[key], dict), f"{where}: {key} must be a table")
    return experiments.parse(values[key], claim_id, known, f"{where}, [{key}]")
