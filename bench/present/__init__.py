"""Presentation: sections, tables and plots as text, Markdown, HTML and SVG."""
