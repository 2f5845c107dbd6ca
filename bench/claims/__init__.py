"""Claims of well-known texts, tested: each is a file of parts, which ``evaluate`` turns into a verdict."""
