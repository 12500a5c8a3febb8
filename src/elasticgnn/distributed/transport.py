"""Errors of the way between processes, told apart from those of a computation."""

from __future__ import annotations

from types import TracebackType


class PeerFailure(RuntimeError):
    """Another process of the group ended, or does not answer."""


class Talking:
    """Around calls of torch.distributed, whose errors have no type of their own with gloo.

    >>> from elasticgnn.distributed.transport import talking
    >>> with talking:
    ...     raise RuntimeError("Connection closed by peer")
    Traceback (most recent call last):
    elasticgnn.distributed.transport.PeerFailure: Connection closed by peer
    """

    def __enter__(self) -> None:
        """Nothing to prepare: one object serves all calls."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """A PeerFailure for what torch raised."""
        if isinstance(error, RuntimeError) and not isinstance(error, PeerFailure):
            raise PeerFailure(first_line(error)) from error


talking = Talking()


def first_line(error: BaseException) -> str:
    """The first line of an error's message, at most 200 letters."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
