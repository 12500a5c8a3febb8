"""The one writer of files: whole or not at all, with the user's permissions, no leftovers."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from elasticgnn.files import check_folder, check_output, whole, whole_file, write_whole


@pytest.fixture(params=["without a name", "with a name"])
def way(request, monkeypatch):
    """Both ways to open the temporary file, whatever the file system of the test can do."""
    if request.param == "with a name":
        monkeypatch.delattr(os, "O_TMPFILE")
    return request.param


def test_text_and_bytes_arrive(tmp_path, way):
    write_whole(tmp_path / "text", "ü\n")
    write_whole(tmp_path / "bytes", b"\xff")
    assert (tmp_path / "text").read_bytes() == b"\xc3\xbc\n"
    assert (tmp_path / "bytes").read_bytes() == b"\xff"


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path, way):
    path = tmp_path / "file"
    path.write_text("old")
    with whole_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def write_half(path, error):
    with whole_file(path) as file:
        file.write(b"half")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, way, error):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(error):
        write_half(path, error)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "old"


def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    code = (
        "import resource, signal, sys, pathlib\n"
        "from elasticgnn.files import write_whole\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
        "write_whole(pathlib.Path(sys.argv[1]), b'x' * 20000)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert done.returncode == 1
    assert "OSError" in done.stderr
    assert str(path) in done.stderr.splitlines()[-1]
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_kill_while_writing_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    code = (
        "import sys, time, pathlib\n"
        "from elasticgnn.files import whole_file\n"
        "with whole_file(pathlib.Path(sys.argv[1])) as file:\n"
        "    file.write(b'x' * 100000); file.flush(); print('half', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"half\n"
        process.send_signal(signal.SIGKILL)
    assert path.read_text() == "old"
    if can_open_without_name(tmp_path):
        assert [p.name for p in tmp_path.iterdir()] == ["file"]


def can_open_without_name(folder: Path) -> bool:
    try:
        os.close(os.open(folder, os.O_WRONLY | os.O_TMPFILE))
    except (OSError, AttributeError):
        return False
    return True


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_a_new_file_has_the_permissions_of_the_umask(tmp_path, way, mask, mode):
    before = os.umask(mask)
    try:
        write_whole(tmp_path / "file", "")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_a_replaced_file_keeps_its_permissions(tmp_path, way):
    path = tmp_path / "file"
    path.write_text("secret")
    path.chmod(0o640)
    write_whole(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_is_replaced_and_not_followed(tmp_path, way):
    (tmp_path / "elsewhere").write_text("precious")
    (tmp_path / "link").symlink_to("elsewhere")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "elsewhere").read_text() == "precious"
    assert not (tmp_path / "link").is_symlink()


def test_a_link_planted_at_the_temporary_name_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE")
    monkeypatch.setattr(whole.secrets, "token_hex", lambda _: "guessed")
    (tmp_path / "victim").write_text("precious")
    (tmp_path / ".elasticgnn-guessed").symlink_to("victim")
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "file", "new")
    assert (tmp_path / "victim").read_text() == "precious"


def test_two_writers_of_one_file_leave_one_of_both(tmp_path, way):
    path, texts = tmp_path / "file", ["a" * 70_000, "b" * 70_000]
    writers = [
        threading.Thread(target=lambda text=text: [write_whole(path, text) for _ in range(20)])
        for text in texts
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert path.read_text() in texts
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_long_name_can_be_written(tmp_path, way):
    write_whole(tmp_path / ("n" * 250), "new")


def test_paths_that_cannot_be_written_are_refused_by_name(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    cases = {
        "folder that exists": tmp_path / "absent" / "file",
        "regular file, got a folder": tmp_path,
        "regular file, got a device": tmp_path / "pipe",
        "must name a file": Path("/"),
    }
    for message, path in cases.items():
        with pytest.raises(ValueError, match=f"plot must .*{message}|{message}"):
            check_output(path, "plot")
        with pytest.raises(ValueError, match=message):
            write_whole(path, "new")


def as_nobody(check) -> int:
    """The exit code of `check` in a process without rights: 0 if it held (root may do all)."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            check()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_closed_folders_and_files_are_refused():
    with tempfile.TemporaryDirectory() as name:  # one that others may enter
        folder = Path(name)
        (folder / "file").write_text("old")
        (folder / "file").chmod(0o444)
        (folder / "open").write_text("old")
        (folder / "open").chmod(0o666)
        (folder / "link").symlink_to("file")
        folder.chmod(0o777)

        def check_files() -> None:
            with pytest.raises(ValueError, match="file one may write to"):
                check_output(folder / "file")
            check_output(folder / "open")
            check_output(folder / "link")  # replaced, not followed

        def check_folders() -> None:
            with pytest.raises(ValueError, match="folder one may write to"):
                check_output(folder / "new")
            with pytest.raises(ValueError, match="folder one may write to"):
                check_folder(folder / "new" / "below")

        check_output(folder / "open")
        assert as_nobody(check_files) == 0
        folder.chmod(0o555)
        assert as_nobody(check_folders) == 0
        folder.chmod(0o755)


def test_a_folder_is_made_when_asked(tmp_path):
    write_whole(tmp_path / "a" / "b", "new", make_folder=True)
    assert (tmp_path / "a" / "b").read_text() == "new"
