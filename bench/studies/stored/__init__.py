"""Two stored runs held against each other."""
