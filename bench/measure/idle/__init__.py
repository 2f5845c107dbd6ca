"""Idle threads and tasks: the kinds that there are, the trial, and its worker."""
