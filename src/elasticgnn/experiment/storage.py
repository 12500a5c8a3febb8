"""Where Optuna keeps the trials: a SQLite file, or a PostgreSQL server for many machines."""

from __future__ import annotations

import fcntl
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

POSTGRESQL = ("postgresql://", "postgres://", "postgresql+psycopg://")


def storage_url(text: str) -> str:
    """The address SQLAlchemy wants for `text`: a file path, sqlite:/// or postgresql:// ..."""
    if text.startswith("sqlite:///"):
        return text
    for prefix in POSTGRESQL:
        if text.startswith(prefix):
            return "postgresql+psycopg://" + text[len(prefix) :]
    if "://" in text:
        raise ValueError(f"storage must be a file, sqlite:/// or postgresql://, got {text!r}")
    return f"sqlite:///{Path(text)}"


def open_storage(url: str) -> Any:
    """Optuna's storage at `url`; its tables are made on first use, by one process at a time."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    path = sqlite_path(url)
    if path is None:
        check_driver()
        return open_server(url)
    path.parent.mkdir(parents=True, exist_ok=True)
    with claim_lock(url):
        options = {"connect_args": {"timeout": 120}}
        storage = optuna.storages.RDBStorage(url, engine_kwargs=options)
        use_write_ahead_log(storage.engine)
        return storage


def close_storage(storage: Any) -> None:
    """Give back the connections of `storage`."""
    storage.remove_session()
    storage.engine.dispose()


def use_write_ahead_log(engine: Any) -> None:
    """Commits without waiting for the disk: a killed process loses nothing, a power cut at most
    the last trials, and neither leaves a broken file."""
    import sqlalchemy

    def prepare(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")

    sqlalchemy.event.listen(engine, "connect", prepare)
    engine.dispose()  # connections made before have the slow mode


def check_driver() -> None:
    if importlib.util.find_spec("psycopg") is None:  # SQLAlchemy loads it by name
        raise ValueError(
            "storage must have its driver installed, got none: pip install elasticgnn[postgresql]"
        )


def open_server(url: str) -> Any:
    """The storage on a server; workers that start together wait for the first to make tables."""
    import optuna
    import sqlalchemy

    engine = sqlalchemy.create_engine(url)
    try:
        with engine.begin() as connection:
            lock = sqlalchemy.text("SELECT pg_advisory_xact_lock(5021971)")
            connection.execute(lock)
            return optuna.storages.RDBStorage(url, engine_kwargs={"pool_pre_ping": True})
    except sqlalchemy.exc.OperationalError as error:
        reason = str(error.orig).splitlines()[0]
        raise OSError(f"storage cannot be reached: {reason}") from None
    finally:
        engine.dispose()


def sqlite_path(url: str) -> Path | None:
    return Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None


@contextmanager
def claim_lock(url: str) -> Iterator[None]:
    """Only one process of this machine claims trials of a SQLite file at a time.

    SQLite has no row locks: without this two workers could claim one trial. The lock dies with
    its process. A server needs none, it locks the row.
    """
    path = sqlite_path(url)
    if path is None:
        yield
        return
    with path.with_name(path.name + ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
