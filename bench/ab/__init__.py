"""Two sides measured in blocks, the rule that decides on them, and the self-test of both."""
