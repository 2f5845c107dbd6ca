"""What is read from a running trial, and whether to believe it; writes rows, reads none."""
