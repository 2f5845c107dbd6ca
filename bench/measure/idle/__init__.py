"""Idle threads and tasks: the trial, and its worker with all kinds."""
