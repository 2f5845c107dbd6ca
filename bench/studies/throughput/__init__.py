"""How much CPU time a page costs and how many pages come per second: arms in blocks, against a reference arm."""
