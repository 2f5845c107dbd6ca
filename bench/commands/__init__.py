"""What commands do that belong to no single study: run, list, report, and their exit codes."""
