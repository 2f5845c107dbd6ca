"""Interpreters side by side: each strategy on each interpreter, in the same blocks."""
