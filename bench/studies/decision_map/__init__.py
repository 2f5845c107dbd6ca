"""Which model fetches most at which latency, CPU work and number in flight."""
