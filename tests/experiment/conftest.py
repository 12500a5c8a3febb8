"""A PostgreSQL server of the tests' own, started from the system's binaries."""

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest


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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def postgresql_url():
    """The address of an empty database on a fresh server."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server binaries (Debian: apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="elasticgnn-postgresql-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    data, port = folder / "data", free_port()
    options = f"-h 127.0.0.1 -p {port} -k {folder} -F"
    control = [str(binaries / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log")]
    run(as_server_user([str(binaries / "initdb"), "-D", str(data), "-U", "tester", "-A", "trust"]))
    run(as_server_user([*control, "-o", options, "start"]))
    try:
        yield f"postgresql+psycopg://tester@127.0.0.1:{port}/postgres"
    finally:
        run(as_server_user([*control, "-m", "immediate", "stop"]))
        shutil.rmtree(folder, ignore_errors=True)


def run(command):
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd="/"
    )
    assert done.returncode == 0, f"{command[-1]}: {done.stderr}"
