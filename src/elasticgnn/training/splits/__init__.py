"""Splits that training draws itself."""
