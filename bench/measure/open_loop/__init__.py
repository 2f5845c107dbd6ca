"""Requests at constant rates, whatever has been answered: response times with and without the time spent waiting."""
