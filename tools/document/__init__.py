"""What README.md and docs/ quote and show of the stored runs, written again from their rows."""
