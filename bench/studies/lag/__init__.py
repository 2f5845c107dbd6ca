"""How late a timer fires in the loop of each model while it crawls."""
