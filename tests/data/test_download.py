"""Downloads, for real, from a server that this test starts: good, broken, wrong and absent."""

import hashlib
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from elasticgnn.data import download, files
from elasticgnn.data.download import fetch_file, file_address, require_files
from elasticgnn.data.files import check_file, data_folder, known_digests

CONTENT = b"node features, honestly\n" * 40000
NAME = "nettack/cora.npz"


class Answers(BaseHTTPRequestHandler):
    """Gives the good bytes, or what the first part of the path asks for."""

    def do_GET(self):
        kind = self.path.split("/")[1]
        if kind == "missing":
            self.send_error(404)
            return
        if kind == "hanging":
            self.server.closing.wait()
            return
        self.send_response(200)
        if kind != "endless":
            self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(self.body(kind))

    def body(self, kind):
        bodies = {"short": CONTENT[: len(CONTENT) // 2], "wrong": CONTENT.upper()}
        return bodies.get(kind, CONTENT)

    def log_message(self, *_arguments):
        pass


@contextmanager
def running_server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    server.block_on_close = False
    server.closing = threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def server():
    with running_server() as address:
        yield address


@pytest.fixture(autouse=True)
def digests(monkeypatch):
    """The checksum of this test's content in place of the real file's."""
    table = {NAME: hashlib.sha256(CONTENT).hexdigest()}
    monkeypatch.setattr(download, "known_digests", lambda: table)
    monkeypatch.setattr(files, "known_digests", lambda: table)


def leftovers(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_good_file_arrives_whole_and_alone(server, tmp_path):
    seen = []
    path = fetch_file(
        NAME, tmp_path, f"{server}/good", lambda done, total: seen.append((done, total))
    )
    assert path.read_bytes() == CONTENT
    assert leftovers(tmp_path) == [path]
    assert seen[-1] == (len(CONTENT), len(CONTENT))


def test_a_file_that_is_there_is_not_asked_for_again(server, tmp_path):
    require_files((NAME,), tmp_path, f"{server}/good")
    found = require_files((NAME,), tmp_path, f"{server}/missing")
    assert found[NAME].read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("wrong", ValueError, "must have SHA-256 .*, got .*: nothing kept"),
        ("short", OSError, "must give 960000 bytes, got 480000: the transfer broke off"),
        ("missing", OSError, "must be there to download, got HTTP 404"),
    ],
)
def test_bad_answers_are_refused_and_leave_nothing(server, tmp_path, kind, error, message):
    with pytest.raises(error, match=message):
        fetch_file(NAME, tmp_path, f"{server}/{kind}")
    assert leftovers(tmp_path) == []


def test_an_endless_answer_is_cut_off(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "LARGEST_FILE", 100_000)
    with pytest.raises(OSError, match="must be at most 100000 bytes, got more"):
        fetch_file(NAME, tmp_path, f"{server}/endless")
    assert leftovers(tmp_path) == []


def test_a_silent_server_is_given_up(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT_SECONDS", 0.2)
    with pytest.raises(OSError, match=r"could not download .* no network\?"):
        fetch_file(NAME, tmp_path, f"{server}/hanging")
    assert leftovers(tmp_path) == []


def test_offline_says_what_to_do(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]  # nobody else is there while it is bound, and none listens
        with pytest.raises(
            OSError, match=r"no network\? Put the file into the data folder by hand"
        ):
            require_files((NAME,), tmp_path, f"http://127.0.0.1:{port}")
    assert leftovers(tmp_path) == []


def test_a_failed_download_keeps_the_file_that_was_there(server, tmp_path):
    path = fetch_file(NAME, tmp_path, f"{server}/good")
    with pytest.raises(ValueError, match="nothing kept"):
        fetch_file(NAME, tmp_path, f"{server}/wrong")
    assert path.read_bytes() == CONTENT


def test_a_changed_file_in_the_folder_is_noticed(tmp_path):
    path = tmp_path / NAME
    path.parent.mkdir()
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(ValueError, match="must have SHA-256"):
        require_files((NAME,), tmp_path)
    with pytest.raises(ValueError, match="delete it and fetch it again"):
        check_file(path, NAME)


def test_only_web_addresses_can_be_mirrors():
    with pytest.raises(ValueError, match="mirror must be an http"):
        file_address(NAME, "file:///etc")


def test_every_known_file_has_an_address(monkeypatch):
    monkeypatch.undo()
    for name in known_digests():
        if not name.startswith("bundled/"):
            assert file_address(name).startswith("https://raw.githubusercontent.com/")


def test_the_folder_is_the_argument_then_the_variable_then_a_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ELASTICGNN_DATA", str(tmp_path / "variable"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder(tmp_path / "argument") == tmp_path / "argument"
    assert data_folder() == tmp_path / "variable"
    monkeypatch.delenv("ELASTICGNN_DATA")
    assert data_folder() == tmp_path / "cache" / "elasticgnn"


def test_a_file_is_no_data_folder(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    with pytest.raises(ValueError, match="data root must be a folder"):
        data_folder(path)
