"""The first ten seconds: one page at a time against many at once, on a small site."""
