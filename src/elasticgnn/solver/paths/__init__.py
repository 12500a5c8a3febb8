"""Solutions for many lambda1."""
