"""Accelerated dual ascent, on the compiled loops or in numpy."""
