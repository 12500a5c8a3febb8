"""Fresh parameters for the parts of a network."""

from torch import nn


def reset(*parts: nn.Module) -> None:
    """Call each part's own reset_parameters, or else those of what it is made of."""
    for part in parts:
        own = getattr(part, "reset_parameters", None)
        if callable(own):
            own()
        else:
            reset(*part.children())
