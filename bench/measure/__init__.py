"""The laboratory: starts processes, measures trials, and says whether to believe them; writes rows, reads none."""
