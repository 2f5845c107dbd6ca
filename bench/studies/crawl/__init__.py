"""Crawling any plain-http site with one model."""
