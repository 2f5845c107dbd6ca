"""``inflight`` on an always quiet machine, with a rule of one look at few blocks: a comparison takes seconds."""

from inflight.bench.cli import main
from inflight.bench.studies.compare import command
from inflight.bench.studies.compare.rule import Rule
from tests.cli.calm import trust_the_machine

BLOCKS = 3

if __name__ == "__main__":
    vars(command)["DESIGNED"] = Rule(looks=(BLOCKS,), shares=(1.0,))
    trust_the_machine()
    main()
