"""Processes under Locust: users, workers and the master of swarms and open loops."""
