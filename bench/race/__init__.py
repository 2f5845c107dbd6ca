"""Strategies side by side on one site: recorded crawls, replayed in a page and in a terminal."""
