"""Memory per thread, task and fetch in flight, layer by layer, and how many are held at once."""
