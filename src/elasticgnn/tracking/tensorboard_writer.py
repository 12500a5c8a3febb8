"""Event files for TensorBoard."""

import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from elasticgnn.extras import optional_imports


class TensorBoardWriter:
    """A callback that writes event files under `folder`, a subfolder for each run.

    `tensorboard --logdir folder` shows them. Close it, or use it as a context: what is not
    flushed is not in the files.

    >>> from tempfile import TemporaryDirectory
    >>> from elasticgnn.tracking import TensorBoardWriter
    >>> with TemporaryDirectory() as folder, TensorBoardWriter(folder) as writer:
    ...     writer("fit", 0, {"loss": 0.5})
    """

    def __init__(self, folder: str | Path) -> None:
        with optional_imports():
            from tensorboard.compat.proto.event_pb2 import Event
            from tensorboard.compat.proto.summary_pb2 import Summary
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        self.folder = Path(folder)
        self._event, self._summary, self._open = Event, Summary, EventFileWriter
        self._files: dict[str, EventFileWriter] = {}

    def __call__(self, run: str, step: int, values: Mapping[str, float]) -> None:
        """Writes the numbers as scalars of the run."""
        if run not in self._files:
            self._files[run] = self._open(str(self.folder / run.replace("/", "-")))
        scalars = [self._summary.Value(tag=name, simple_value=v) for name, v in values.items()]
        event = self._event(wall_time=time.time(), step=step, summary=self._summary(value=scalars))
        self._files[run].add_event(event)

    def close(self) -> None:
        """Flushes and closes every file."""
        for file in self._files.values():
            file.close()
        self._files = {}

    def __enter__(self) -> "TensorBoardWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
