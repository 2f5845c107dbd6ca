"""Many strategy processes and many servers at once, steered by Locust."""
