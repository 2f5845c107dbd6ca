"""The harness: it knows nothing of the strategies but their contract. docs/architecture.md has its rooms."""
