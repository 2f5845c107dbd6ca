"""Strategies side by side on one site: a page and a terminal that replay recorded crawls."""
