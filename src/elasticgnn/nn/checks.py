"""Checks of the settings that layers are built with."""


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
