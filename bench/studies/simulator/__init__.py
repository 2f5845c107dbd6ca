"""The simulator: predicts the pages/s of each model at any latency from its CPU time per page in a run."""
