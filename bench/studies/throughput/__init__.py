"""CPU time per page and pages per second: arms in blocks, compared with a reference arm."""
