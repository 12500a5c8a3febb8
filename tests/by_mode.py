"""Outcomes of a comparison by what they are of."""


def by_mode(found):
    """Accuracies by model, attack, mode and rate."""
    return {(each.model, each.attack, each.mode, each.rate): each.accuracy for each in found}
