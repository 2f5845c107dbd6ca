"""Scaling: the same strategies with one core and with more, in the same blocks, over the CPU work per page."""
