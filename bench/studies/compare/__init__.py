"""Whether B is worse than A: blocks of three arms (A, B, and A again) until a rule has a verdict."""
