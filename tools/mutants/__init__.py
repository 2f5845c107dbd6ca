"""Mutants: the share of small planted bugs that the tests find, per room of the code.

    python -m tools.mutants --costs costs.json --out mutants.jsonl --jobs 2

A room is a part of the code with the tests that are tried on it. The draw is by the text of the statements, so it stays
the same when code moves. Each mutant runs in a copy of the checkout, in an environment whose editable install is that
copy, so that child processes import the mutant, too. Tests of ``make test`` are tried first, the cheapest first, until
one fails; then those that only ``make test-all`` runs. ``pytest --costs FILE`` writes what tests cost.

``tools/mutants.json`` has the shares that must not fall: those of 24 November 2026, before the suite was made faster.
The room ``measure`` has the first 20 of its 50 mutants there.
"""
