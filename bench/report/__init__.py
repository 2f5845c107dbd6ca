"""A whole run, put together from the studies: what the terminal shows, the page, Markdown, JSON, tables and plots."""
