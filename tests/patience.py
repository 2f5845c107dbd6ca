"""How long a test waits for something that must come."""

HANG_S = 200.0
"""What has not happened by then never will: no machine is that slow. pytest's own limit in pyproject.toml is longer."""
