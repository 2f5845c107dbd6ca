"""Blocks: all arms of a workload alive at once, taking turns in slices."""
