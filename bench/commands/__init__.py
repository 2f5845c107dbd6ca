"""The commands that have no room of their own: a module has the options of a command, its help and what it does."""
