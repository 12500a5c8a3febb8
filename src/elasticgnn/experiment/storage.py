"""Where Optuna keeps the trials: a SQLite file, or a PostgreSQL server for many machines."""

from __future__ import annotations

import fcntl
import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from elasticgnn.extras import optional_imports
from elasticgnn.files import hide_password

SQLITE_HEAD = b"SQLite format 3\x00"
POSTGRESQL = ("postgresql://", "postgres://", "postgresql+psycopg://")


def storage_url(text: str) -> str:
    """The address SQLAlchemy wants for `text`: a file path, sqlite:/// or postgresql:// ...

    >>> from elasticgnn.experiment import storage_url
    >>> storage_url("sqlite:///study.db")
    'sqlite:///study.db'
    """
    if text.startswith("sqlite:///"):
        return text
    for prefix in POSTGRESQL:
        if text.startswith(prefix):
            return checked_address("postgresql+psycopg://" + text[len(prefix) :])
    if "://" in text:
        shown = hide_password(text)
        raise ValueError(f"storage must be a file, sqlite:/// or postgresql://, got {shown!r}")
    if Path(text).is_dir():
        raise ValueError(f"storage must be a file, got the folder {text}")
    return f"sqlite:///{Path(text)}"


def checked_address(url: str) -> str:
    """`url` itself, if it can be understood."""
    import sqlalchemy

    try:
        sqlalchemy.engine.make_url(url)
    except (sqlalchemy.exc.ArgumentError, ValueError):
        raise ValueError(
            f"storage must be postgresql://user@host:port/name, got {hide_password(url)!r}"
        ) from None
    return url


@contextmanager
def storage_errors(url: str) -> Iterator[None]:
    """A full disk, a stopped server or a foreign file become one OSError that names the storage."""
    with optional_imports():
        import optuna
    import sqlalchemy

    try:
        yield
    except (sqlalchemy.exc.SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
        cause = error.__cause__ if error.__cause__ is not None else error
        lines = str(getattr(cause, "orig", None) or cause).splitlines()
        reason = lines[0] if lines else type(cause).__name__
        raise OSError(
            f"storage {hide_password(url)} failed: {hide_password(reason)}; what is finished is "
            "kept, the same command goes on from there"
        ) from error


def open_storage(url: str) -> Any:
    """Optuna's storage at `url`; its tables are made on first use, by one process at a time."""
    with optional_imports():
        import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    path = sqlite_path(url)
    if path is None:
        check_driver()
        return open_server(url)
    check_database(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with claim_lock(url):
        options = {"connect_args": {"timeout": 120}}
        storage = optuna.storages.RDBStorage(url, engine_kwargs=options)
        use_write_ahead_log(storage.engine)
        return storage


def check_database(path: Path) -> None:
    """Refuses a file of another kind, before a lock is made beside it."""
    if not path.exists():
        return
    if not path.is_file():
        raise ValueError(f"storage must be a file, got a folder, device or pipe: {path}")
    with path.open("rb") as file:
        head = file.read(len(SQLITE_HEAD))
    if head not in (b"", SQLITE_HEAD):
        raise ValueError(f"storage must be an SQLite file or a new one, got another file: {path}")


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
    """Refuses a PostgreSQL address where no driver is installed."""
    if importlib.util.find_spec("psycopg") is None:  # SQLAlchemy loads it by name
        raise ValueError(
            "storage must have its driver installed, got none: pip install 'elasticgnn[study]'"
        )


def open_server(url: str) -> Any:
    """The storage on a server; workers that start together wait for the first to make tables."""
    with optional_imports():
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
    """The file of an SQLite address, None for any other."""
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
    with os.fdopen(open_lock(path.with_name(path.name + ".lock")), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def open_lock(path: Path) -> int:
    """A handle of the file itself: a link that somebody put in its place is refused."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
