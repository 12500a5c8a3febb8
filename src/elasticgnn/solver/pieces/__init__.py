"""Constant pieces of a signal: made exact, counted, with intervals."""
