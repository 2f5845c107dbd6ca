"""Which model to choose for a workload, and what to expect of it."""
