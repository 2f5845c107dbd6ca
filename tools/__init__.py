"""Programs for those who work on inflight: studies of the method, generated documents."""
