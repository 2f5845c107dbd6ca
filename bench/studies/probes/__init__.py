"""Probes: small programs, each of which shows one claim in figures."""
