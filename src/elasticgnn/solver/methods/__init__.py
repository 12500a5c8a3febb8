"""Which method solves a problem, the rules of all methods, and those of one file."""
