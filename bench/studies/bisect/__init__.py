"""Bisection: the commit that made a strategy worse, by a comparison of the first commit with each middle one."""
