"""The registry of claims: one TOML file per claim, its words and its experiment. The rules: ``rules``.

A file has ``order``, ``claim``, ``source``, ``published`` and ``about``; ``kind = "demonstration"`` where the claim is
true by construction; a table ``[explanations]`` with a paragraph for each verdict ("not tested" may be left out) and
perhaps a ``mechanism`` that stands before each of them, where ``{name}`` is filled from the outcome's values;
``[experiment]`` in the format of ``bench.core.experiment``; and ``[quick]``, a smaller one, or none.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from msgspec import structs

from bench.core import experiment as experiments
from bench.core import judge
from bench.core.experiment import Experiment
from bench.core.judge import ExperimentError
from bench.studies.claims.rules import RULES
from bench.studies.claims.verdicts import WORDS, Kind, Outcome, Verdict, explained

FOLDER = Path(__file__).with_name("toml")
MECHANISM = "mechanism"
_TEXTS = ("claim", "source", "published", "about")
_KEYS = ("order", "kind", *_TEXTS, "explanations", "experiment", "quick")
MOST_ORDER = 1000
NOT_TESTED = "Nothing was measured that could decide it."


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim as its file has it."""

    id: str
    kind: Kind
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
        template = "\n".join(filter(None, (self.explanations.get(MECHANISM), self.explanations[outcome.verdict])))
        return Verdict(
            **structs.asdict(outcome),
            id=self.id,
            claim=self.claim,
            source=self.source,
            published=self.published,
            about=self.about,
            explanation=explained(template, outcome.values),
            template=template,
            order=self.order,
            kind=self.kind,
        )


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
    judge.check_keys(values, _KEYS, where)
    texts = {key: judge.text(values.get(key), f"{where}: {key}") for key in _TEXTS}
    kind = values.get("kind", "claim")
    judge.check_known(kind, get_args(Kind), "kind", where)
    judge.need("experiment" in values, f"{where}: it needs an [experiment]")
    return Claim(
        id=claim_id,
        kind=kind,
        order=judge.whole(values.get("order"), 1, MOST_ORDER, f"{where}: order"),
        **texts,
        explanations=_explanations(values.get("explanations"), where),
        experiment=_experiment(values, "experiment", claim_id, known_strategies, where),
        quick=_experiment(values, "quick", claim_id, known_strategies, where) if "quick" in values else None,
    )


def _explanations(table: Any, where: str) -> dict[str, str]:
    where = f"{where}, [explanations]"
    judge.need(isinstance(table, dict), f"{where} must be a table with a paragraph for each verdict")
    judge.check_keys(table, (MECHANISM, *WORDS), where)
    told = {"not tested": NOT_TESTED} | table
    for word in WORDS:
        judge.need(word in told, f'{where}: a paragraph for "{word}" is missing')
    return {word: judge.text(text, f'{where}: "{word}"') for word, text in told.items()}


def _experiment(values: Mapping[str, Any], key: str, claim_id: str, known: Iterable[str], where: str) -> Experiment:
    judge.need(isinstance(values[key], dict), f"{where}: {key} must be a table")
    return experiments.parse(values[key], claim_id, list(known), f"{where}, [{key}]")
