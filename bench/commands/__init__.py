"""What commands do that belong to no single study: run, list, report, completion, and their exit codes."""
