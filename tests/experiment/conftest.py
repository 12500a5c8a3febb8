"""A PostgreSQL server of the tests' own, started from the system's binaries."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from ports import free_port


def find_binaries():
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = [folder for folder in candidates if (folder / "initdb").is_file()]
    if found:
        return found[0]
    initdb = shutil.which("initdb")
    return Path(initdb).parent if initdb else None


def as_server_user(command):
    """The server refuses to run as root: there it runs as Debian's user postgres."""
    if os.geteuid() != 0:
        return command
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]


class Server:
    """A PostgreSQL server that can be stopped and started again."""

    def __init__(self, binaries, folder):
        self.port = free_port()
        self.options = f"-h 127.0.0.1 -p {self.port} -k {folder} -F"
        control = [binaries / "pg_ctl", "-D", folder / "data", "-w", "-l", folder / "log"]
        self.control = [str(word) for word in control]
        create = [binaries / "initdb", "-D", folder / "data", "-U", "tester", "-A", "trust"]
        run(as_server_user([str(word) for word in create]))

    @property
    def url(self):
        return f"postgresql+psycopg://tester@127.0.0.1:{self.port}/postgres"

    def start(self):
        run(as_server_user([*self.control, "-o", self.options, "start"]))

    def stop(self):
        run(as_server_user([*self.control, "-m", "immediate", "stop"]))


@pytest.fixture(scope="session")
def postgresql():
    """A fresh server with an empty database."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server binaries (Debian: apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="elasticgnn-postgresql-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    server = Server(binaries, folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgresql_url(postgresql):
    return postgresql.url


def run(command):
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd="/"
    )
    assert done.returncode == 0, f"{command[-1]}: {done.stderr}"
