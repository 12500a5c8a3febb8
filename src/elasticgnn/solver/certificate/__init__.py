"""Objective, duality gap and verdict of what a method found."""
