"""Metrics for MLflow."""

import time
from collections.abc import Mapping
from types import TracebackType

from elasticgnn.extras import optional_imports


class MLflowWriter:
    """A callback that logs to the MLflow server or store at `uri`, an MLflow run for each run.

    uri: what MLflow calls the tracking URI, e.g. "sqlite:///mlflow.db" or a server's address; a
    writer keeps to its own and touches no global setting of MLflow. Runs that are open when it
    closes are marked as finished, or as failed after an exception.

    >>> from tempfile import TemporaryDirectory
    >>> from elasticgnn.tracking import MLflowWriter
    >>> with TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     with MLflowWriter(f"sqlite:///{folder}/mlflow.db") as writer:
    ...         writer("fit", 0, {"loss": 0.5})
    """

    def __init__(self, uri: str, experiment: str = "elasticgnn") -> None:
        with optional_imports():
            from mlflow.entities import Metric
            from mlflow.tracking import MlflowClient
        self._metric, self._client = Metric, MlflowClient(tracking_uri=uri)
        known = self._client.get_experiment_by_name(experiment)
        self.experiment_id = (
            self._client.create_experiment(experiment) if known is None else known.experiment_id
        )
        self._runs: dict[str, str] = {}

    def __call__(self, run: str, step: int, values: Mapping[str, float]) -> None:
        """Logs the numbers as metrics of the run."""
        if run not in self._runs:
            created = self._client.create_run(self.experiment_id, run_name=run)
            self._runs[run] = created.info.run_id
        now = int(1000 * time.time())
        metrics = [self._metric(name, value, now, step) for name, value in values.items()]
        self._client.log_batch(self._runs[run], metrics=metrics)

    def close(self, status: str = "FINISHED") -> None:
        """Ends the open runs with an MLflow status."""
        for number in self._runs.values():
            self._client.set_terminated(number, status)
        self._runs = {}

    def __enter__(self) -> "MLflowWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close("FINISHED" if kind is None else "FAILED")
