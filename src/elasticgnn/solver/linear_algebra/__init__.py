"""Sparse symmetric systems, their factors, and twice the digits of float64."""
