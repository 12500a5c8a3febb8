"""The same settings on several splits, and what they are worth together."""
