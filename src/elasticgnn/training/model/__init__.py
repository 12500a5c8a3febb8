"""A trained model: what it keeps, its file and its card, and other tasks in its order."""
