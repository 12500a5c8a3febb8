"""The interior point method."""
