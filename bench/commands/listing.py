"""``inflight list``: the strategies and the presets."""

import re
import textwrap

from inflight import strategies
from inflight.bench.commands.output import seconds
from inflight.bench.core import experiment as experiments
from inflight.bench.core.experiment import ExperimentError
from inflight.bench.core.plan import estimate_ns, expand

WIDTH = 66
"""Maximum length of a line behind the name of a strategy."""
REFUSALS = (ExperimentError, strategies.StrategyError)


def run() -> int:
    """Print the strategies and the presets; return 0. A strategy that cannot run is listed with the reason."""
    known = {name: strategies.describe(name) for name in strategies.names()}
    for group, meaning in strategies.GROUPS.items():
        print(f"strategies: {meaning}")
        for described in known.values():
            if described.group == group:
                print(f"  {described.name:<20} {_gist(described.model)}")
                if described.lack:
                    print(f"  {'':<20} unavailable: {described.lack}")
        print()
    print("presets (inflight run NAME)")
    for name in experiments.preset_names():
        preset = experiments.load(name, list(known))
        time = seconds(estimate_ns(expand(preset, {one: known[one] for one in preset.strategies})))
        print(f"  {name:<20} about {time}: {_gist(preset.about)}")
    return 0


def _gist(text: str) -> str:
    """Return a text up to its first colon or full stop, in lines that stand below each other behind a name."""
    gist = re.split(r"[:.](?:\s|$)", text, maxsplit=1)[0].replace("``", "").replace("\n", " ")
    return f"\n{'':<23}".join(textwrap.wrap(gist, WIDTH, break_on_hyphens=False))
