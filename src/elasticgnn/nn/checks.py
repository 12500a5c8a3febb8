"""Checks of the settings that layers are built with."""

from torch import Tensor, nn


def checked_channels(channels: int | None, learnable: bool | str) -> int | None:
    """`channels`, which only strengths per channel have."""
    if (learnable == "channel") != (channels is not None):
        raise ValueError(
            "channels must be given where learnable is 'channel' and nowhere else, "
            f"got {channels} with learnable={learnable!r}"
        )
    if channels is not None and channels < 1:
        raise ValueError(f"channels must be an integer >= 1, got {channels}")
    return channels


def check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    """Refuses what is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {choices}, got {value!r}")


def trained_norm(norm: object) -> nn.Module | None:
    """The norm if it is a module, to be registered; others must not hold what is trained."""
    if isinstance(norm, nn.Module):
        return norm
    for name, value in getattr(norm, "__dict__", {}).items():
        if isinstance(value, nn.Module) or (isinstance(value, Tensor) and value.requires_grad):
            raise ValueError(
                "norm must be an nn.Module as well as an EdgePenalty to hold what is trained, "
                f"got {type(norm).__name__} with {name}"
            )
    return None
