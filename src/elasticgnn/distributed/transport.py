"""Errors of the connection between processes, apart from those of a computation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from elasticgnn.files import first_line

MOST_LETTERS = 200  # of an error that torch tells with its stack


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
        raise PeerFailure(first_line(error, MOST_LETTERS)) from error
