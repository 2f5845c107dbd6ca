"""Very many fetches in flight: one strategy in as many processes as it takes, steered by Locust."""
