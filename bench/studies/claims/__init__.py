"""The registry of claims: one TOML file per claim, with its texts and its experiment. ``rules`` has the rules."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from inflight.bench.plan import experiment as experiments
from inflight.bench.plan.experiment import Experiment
from inflight.bench.plan.judge import ExperimentError, nearest
from inflight.bench.studies.claims.rules import RULES
from inflight.bench.studies.claims.verdicts import WORDS, Kind, Outcome, Verdict, Word, explained

FOLDER = Path(__file__).with_name("toml")
NOT_TESTED = "No measurement could decide it."
Text = Annotated[str, msgspec.Meta(min_length=1)]


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of a claim."""

    order: Annotated[int, msgspec.Meta(ge=1)]
    claim: Text
    source: Text
    published: Text
    about: Text
    kind: Kind = "claim"
    takes_strategies: bool = False
    """The rule shows whatever strategies were measured: ``--strategy`` adds more."""
    slow_s: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Seconds that its trials take beyond the general estimate, which knows nothing of a slow client."""
    explanations: dict[Literal["mechanism"] | Word, Text]
    """A paragraph for each verdict, with ``{name}`` for values of the outcome; ``mechanism`` precedes each."""
    experiment: dict[str, Any]
    """As ``inflight.bench.plan.experiment`` reads it."""
    quick: dict[str, Any] | None = None
    """A shorter one, for ``--quick``."""

    def __post_init__(self) -> None:
        """Raise ValueError if an explanation is missing."""
        if missing := set(WORDS) - {"not tested"} - self.explanations.keys():
            raise ValueError(f"[explanations] has no paragraph for {', '.join(sorted(missing))}")


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim and its experiments."""

    id: str
    file: File
    experiment: Experiment
    quick: Experiment | None

    def with_strategies(self, names: Iterable[str]) -> "Claim":
        """Return the claim with more strategies in its experiments. Raises ExperimentError if it takes none."""
        if not self.file.takes_strategies:
            raise ExperimentError(f"{self.id} compares what its text names, and takes no --strategy")
        added = tuple(names)
        experiment, quick = (
            one and msgspec.structs.replace(one, strategies=tuple(dict.fromkeys((*one.strategies, *added))))
            for one in (self.experiment, self.quick)
        )
        assert experiment is not None
        return replace(self, experiment=experiment, quick=quick)

    def verdict(self, outcome: Outcome) -> Verdict:
        """Return the claim with its outcome."""
        told = {"not tested": NOT_TESTED, **self.file.explanations}
        template = "\n".join(told[word].strip() for word in ("mechanism", outcome.verdict) if word in told)
        texts = {name: getattr(self.file, name).strip() for name in ("claim", "source", "published", "about")}
        return Verdict(
            **msgspec.structs.asdict(outcome) | texts,
            id=self.id,
            explanation=explained(template, outcome.values),
            template=template,
            order=self.file.order,
            kind=self.file.kind,
        )


def ids() -> list[str]:
    """Return the ids of all claims, in the order of their rules."""
    return list(RULES)


def load(claim_id: str, known_strategies: Iterable[str], folder: Path = FOLDER) -> Claim:
    """Read one claim. Raises ExperimentError if its name is unknown or its file is wrong."""
    if claim_id not in RULES:
        raise ExperimentError(f"no claim {claim_id!r}{nearest(claim_id, RULES)}")
    name, known = f"{claim_id}.toml", list(known_strategies)
    try:
        file = msgspec.convert(tomllib.loads((folder / name).read_text(encoding="utf-8")), File)
    except (OSError, ValueError) as error:
        raise ExperimentError(f"{name}: {error}") from error
    experiment, quick = (
        None if table is None else experiments.parse(table, claim_id, known, f"{name}, [{key}]")
        for key, table in (("experiment", file.experiment), ("quick", file.quick))
    )
    assert experiment is not None
    return Claim(claim_id, file, experiment, quick)
