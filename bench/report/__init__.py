"""Reports of whole runs, made of all studies: terminal, page, Markdown, JSON, tables and plots."""
