"""Load that Locust steers: one strategy in as many processes as it takes, and requests at constant rates."""
