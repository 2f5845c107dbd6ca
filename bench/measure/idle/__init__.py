"""Idle threads and tasks: their worker with all kinds, and the attribution of their bytes."""
