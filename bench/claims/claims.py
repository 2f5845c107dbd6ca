"""The registry of claims: one TOML file per claim (``toml/``), with its texts, its parts and its experiment.

``command`` loads the claims that a user asks for; ``evaluate`` reads their parts. A claim is a sentence of a well-known
text. Its *parts* say which figure must be on which side of which edge; its *facts* what must have happened; its
*experiment* which trials show that. The classes below are the format of a file: queries select trials in the frame
(``frame.frame``).
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from inflight.bench.claims.verdicts import Word
from inflight.bench.plan import experiment as experiments
from inflight.bench.plan.experiment import Experiment
from inflight.bench.plan.judge import ExperimentError, nearest

FOLDER = Path(__file__).with_name("toml")
"""Folder of the files."""
Text = Annotated[str, msgspec.Meta(min_length=1)]
"""A text that is not empty."""


class ClaimPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a claim: some figures and their boundary."""

    figures: tuple[str, ...]
    """Names of figures of the file."""
    test: Literal["at least", "below", "not clearly above", "not clearly below"]
    """The first two need the whole interval; the others fail only if all of it is beyond."""
    edge: float
    """The boundary, in the unit of the figures."""
    core: str = ""
    """Name of the main statement that it belongs to: the claim is not true if no part with the same core is."""
    is_any: bool = False
    """One of the figures is enough."""
    if_free: str = ""
    """The figure that must be at least 0.9 for a "no" to count: else other programs used the cores."""


class Selected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is read of some trials. Queries select them in the frame; settings and arguments are columns, too."""

    name: str = ""
    """What it is called in texts."""
    where: str = ""
    """Which trials count."""
    each: str = ""
    """A column: there is one for each of its values, named after it."""


class FigureOf(Selected, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure of a claim."""

    column: str = ""
    """The column of the frame that is compared, or summarised by its median and range."""
    layer: str = ""
    """Instead: the layer of memory whose slope over the number held is taken."""
    is_of_freest: bool = False
    """Instead: pages per second of the freest slices of each side."""
    of: str = ""
    """Which trials: they are divided by those of ``over``, or summarised without it."""
    over: str = ""
    """Which other trials they are divided by."""
    minus: str = ""
    """Which trials have a summary that is subtracted."""
    times: float = 1
    """A factor for the figure."""
    rounds: int = 2
    """Minimum number of valid trials for a summary."""


class Fact(Selected, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a claim without a figure."""

    must: Text
    """What must be so, in words."""
    no: str = ""
    """A query: a trial that it selects, valid or not, is enough for a "no"."""
    yes: str
    """A query: for a "yes" it must select a valid trial of each workload."""
    core: str = ""
    """As in ``ClaimPart``."""


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of a claim."""

    order: Annotated[int, msgspec.Meta(ge=1)]
    """Place of the claim among all."""
    claim: Text
    """The claim, in a sentence."""
    source: Text
    """The text that it is from."""
    published: Text
    """The figures of that text."""
    tested: Text
    """How it is tested."""
    background: Text
    """What a learner has to know."""
    is_demonstration: bool = False
    """True by construction: the figures show how large the effect is."""
    takes_strategies: bool = False
    """Whatever strategies were measured are shown: ``--strategy`` adds more."""
    measure: str = ""
    """What all figures are of."""
    needs: str = ""
    """Which trials have the figures of their program, or what excuses it; others are not valid."""
    figures: dict[str, FigureOf] = {}
    """By the names that parts and ``why`` have for them."""
    parts: tuple[ClaimPart, ...] = ()
    facts: tuple[Fact, ...] = ()
    compares_limits: bool = False
    """A further part: the limit of threads is the lowest."""
    exhibits: dict[str, FigureOf] = {}
    """Texts of several lines."""
    why: dict[Word, Text]
    """A sentence for each verdict, with ``{name}`` for figures."""
    experiment: dict[str, Any]
    """As ``inflight.bench.plan.experiment`` reads it."""
    quick: dict[str, Any] | None = None
    """A shorter one, for ``--quick``."""

    def __post_init__(self) -> None:
        """Raise ValueError if a sentence or a figure is missing."""
        if missing := {"true", "partly true", "not true here"} - self.why.keys():
            raise ValueError(f"[why] has no sentence for {', '.join(sorted(missing))}")
        named = {name for part in self.parts for name in (*part.figures, part.if_free) if name}
        if missing := named - self.figures.keys():
            raise ValueError(f"[figures] has no {', '.join(sorted(missing))}")


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim with its experiments."""

    id: str
    file: File
    experiment: Experiment
    quick: Experiment | None


def ids() -> list[str]:
    """Return the ids of all claims, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(claim_id: str, known_strategies: Iterable[str], folder: Path = FOLDER) -> Claim:
    """Read one claim. Raises ExperimentError if its name is unknown or its file is wrong.

    ``folder`` is where its file is read. Which names are known does not depend on it: they are those of FOLDER, so a
    folder of a test has other files for claims of these names.
    """
    if claim_id not in ids():
        raise ExperimentError(f"no claim {claim_id!r}{nearest(claim_id, ids())}")
    name, known = f"{claim_id}.toml", list(known_strategies)
    try:
        file = msgspec.convert(tomllib.loads((folder / name).read_text(encoding="utf-8")), File)
    except (OSError, ValueError) as error:
        raise ExperimentError(f"{name}: {error}") from error
    experiment = experiments.parse(file.experiment, claim_id, known, f"{name}, [experiment]")
    quick = None if file.quick is None else experiments.parse(file.quick, claim_id, known, f"{name}, [quick]")
    return Claim(claim_id, file, experiment, quick)
