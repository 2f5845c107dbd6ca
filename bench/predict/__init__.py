"""Predictions from the CPU time per page: advice for a workload, and the simulator."""
