"""The experiment, and the trials that it expands to."""
