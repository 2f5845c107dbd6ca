"""The simulator: what a page costs each model in a run, and the pages/s that follow from it at any latency."""
