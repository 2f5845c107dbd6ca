"""Rows: a typed record for each kind of trial, their files, and the machine of a run."""
