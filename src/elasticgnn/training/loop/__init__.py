"""The epochs of one model: how it is called, what it minimises, which epoch is kept."""
