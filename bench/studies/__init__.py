"""The studies: one room for each kind of question, with its record, runner, checks, reading and section."""
