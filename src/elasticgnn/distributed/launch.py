"""What torchrun tells a process in its environment, checked."""

from __future__ import annotations

import os
from typing import NamedTuple

MEETING_VARIABLE = "ELASTICGNN_MEETING_SECONDS"  # how long to wait for the other processes
MEETING_SECONDS = 60.0


class Launch(NamedTuple):
    """One process of several."""

    rank: int
    processes: int
    address: str  # where they meet
    port: int
    attempt: str  # how often torchrun has started them again
    keeps_store: bool  # whether this process keeps the meeting point's store, and not torchrun


def is_launched() -> bool:
    """Whether torchrun (or something like it) started this process as one of several."""
    return number_of_processes() > 1


def number_of_processes() -> int:
    """How many processes were started; 1 without torchrun."""
    return whole_number("WORLD_SIZE", os.environ.get("WORLD_SIZE") or "1", 1, None)


def read_launch() -> Launch:
    """This process as torchrun names it; ValueError where a variable is missing or no number."""
    count = number_of_processes()
    rank = whole_number("RANK", given("RANK"), 0, count - 1)
    address, port = (
        given("MASTER_ADDR"),
        whole_number("MASTER_PORT", given("MASTER_PORT"), 1, 65535),
    )
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    keeps_store = rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    return Launch(rank, count, address, port, attempt, keeps_store)


def given(name: str) -> str:
    """A variable that torchrun sets beside WORLD_SIZE."""
    value = os.environ.get(name, "")
    if not value:
        raise ValueError(f"{name} must be set where WORLD_SIZE is, got none: start with torchrun")
    return value


def whole_number(name: str, value: str, least: int, most: int | None) -> int:
    """A variable's whole number."""
    span = f"of at least {least}" if most is None else f"from {least} to {most}"
    try:
        number = int(value)
    except ValueError:
        number = least - 1
    if number < least or (most is not None and number > most):
        raise ValueError(f"{name} must be a whole number {span}, got {value!r}")
    return number


def meeting_seconds() -> float:
    """How long the processes wait for each other at the start."""
    return check_seconds(MEETING_VARIABLE, os.environ.get(MEETING_VARIABLE, str(MEETING_SECONDS)))


def check_seconds(name: str, value: str | float) -> float:
    """The number; ValueError if it is none, or no time to wait."""
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{name} must be a number of seconds above 0, got {value!r}")
    return seconds
