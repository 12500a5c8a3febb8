"""Derivatives of the minimiser: gradients and degrees of freedom."""
