"""Errors of the way between processes, told apart from those of a computation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class PeerFailure(RuntimeError):
    """Another process of the group ended, or does not answer."""


@contextmanager
def talking() -> Iterator[None]:
    """Around calls of torch.distributed, whose errors have no type of their own with gloo.

    >>> from elasticgnn.distributed.transport import talking
    >>> with talking():
    ...     raise RuntimeError("Connection closed by peer")
    Traceback (most recent call last):
    elasticgnn.distributed.transport.PeerFailure: Connection closed by peer
    """
    try:
        yield
    except PeerFailure:
        raise
    except RuntimeError as error:
        raise PeerFailure(first_line(error)) from error


def first_line(error: BaseException) -> str:
    """The first line of an error's message, at most 200 letters."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
