"""Stored runs compared, and over time."""
