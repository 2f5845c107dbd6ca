"""``inflight`` on a machine that is always quiet, with a rule of one look at few pairs: a comparison takes seconds."""

from bench import ab_command
from bench.analyse.decide import Rule
from bench.cli import main
from tests.cli.calm import trust_the_machine

PAIRS = 3

if __name__ == "__main__":
    vars(ab_command)["DESIGNED"] = Rule(looks=(PAIRS,), shares=(1.0,))
    trust_the_machine()
    main()
