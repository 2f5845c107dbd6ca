"""What a library cannot do: the tests that a strategy with a stack of its own is expected to fail, each with a reason.

An entry whose test passes fails the suite: remove it.
"""

LIMITS: dict[str, dict[str, str]] = {}
"""Strategy -> test -> why the library cannot pass it.

A test is the name of its function, or ``name[value]`` for its cases with this value of a parameter. Several
neighbouring values are written as pytest writes them: ``test_every_fault_ends_as_the_site_says[reset-mid-keep-alive]``.
"""


def limit_of(strategy: str, test: str, case: str) -> str | None:
    """Return why a strategy's library cannot pass a case of a test; None if it is expected to pass.

    ``case`` is what pytest writes in the brackets behind the test's name.
    """
    for entry, reason in LIMITS.get(strategy, {}).items():
        name, _, value = entry.removesuffix("]").partition("[")
        if name == test and (not value or f"-{value}-" in f"-{case}-"):
            return reason
    return None
