"""How the tool ends: Ctrl-C, defects, bad input, and what of it reaches the terminal."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from elasticgnn.cli import __main__ as tool
from elasticgnn.files import hide_password, one_line, visible

ESCAPE = "\x1b]0;stolen\x07\x1b[2J\u202e"


def run(arguments: list[str], capsys) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        tool.main(arguments)
    out, err = capsys.readouterr()
    return ended.value.code or 0, out, err


@pytest.fixture
def broken(monkeypatch):
    """`elasticgnn doctor` with a defect."""

    def fail():
        raise RuntimeError(f"a defect {ESCAPE}")

    monkeypatch.setattr("elasticgnn.cli.doctor.examine", fail)


def test_a_defect_is_one_line_with_the_details_in_a_file(broken, capsys):
    code, out, err = run(["doctor"], capsys)
    assert code == 70
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("internal error: RuntimeError: a defect")
    assert "\x1b" not in err
    details = Path(re.search(r"details in (\S+),", err)[1])
    assert "Traceback" in details.read_text()
    assert details.stat().st_mode & 0o077 == 0
    details.unlink()


@pytest.mark.parametrize("after", [ImportError, ValueError])
def test_an_interrupt_that_a_library_took_for_its_own_failure_is_one(after, monkeypatch, capsys):
    def fail():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:  # as compiled modules do while they are loaded
            raise ImportError("initialization failed") from error

    def fail_again():
        try:
            fail()
        except ImportError:
            raise after("not installed") from None

    monkeypatch.setattr("elasticgnn.cli.doctor.examine", fail_again)
    assert run(["doctor"], capsys) == (130, "", "interrupted\n")


@pytest.mark.parametrize("place", [0, 1])
def test_debug_shows_the_traceback_wherever_it_stands(broken, place):
    arguments = ["doctor"]
    arguments.insert(place, "--debug")
    with pytest.raises(RuntimeError, match="a defect"):
        tool.main(arguments)


def test_the_file_of_details_has_no_password(broken, capsys):
    code, _, err = run(["doctor"], capsys)
    assert code == 70
    Path(re.search(r"details in (\S+),", err)[1]).unlink()
    assert hide_password("postgresql://me:secret@host/db") == "postgresql://me:***@host/db"
    assert hide_password("postgresql://me:a@b@host/db") == "postgresql://me:***@host/db"
    assert hide_password("table1") == "table1"


def test_bad_input_shows_no_control_characters(tmp_path, capsys):
    code, _, err = run(["train", f"no{ESCAPE}data"], capsys)
    assert code == 2
    assert "\\x1b" in err
    assert "\x1b" not in err
    assert "\u202e" not in err


def test_control_characters_are_written_out_and_text_stays():
    assert visible("grün\tß\n") == "grün\tß\n"
    assert visible("\x1b[31m\x00\x9b\u202e") == "\\x1b[31m\\x00\\x9b\\u202e"
    assert one_line("a\r\n b\x07") == "a b\\x07"


def test_one_interrupt_ends_a_command_with_130_and_a_word(tmp_path):
    # a terminal of its own, so that the command sees the signal as from a user
    main, side = pty.openpty()
    command = [sys.executable, "-m", "elasticgnn.cli", "train", "cora", "--epochs", "100000"]
    process = subprocess.Popen(
        command, stdout=side, stderr=side, start_new_session=True, preexec_fn=heed_interrupts
    )
    os.close(side)
    wait_for_progress(main)
    process.send_signal(signal.SIGINT)
    text = b""
    while True:
        try:
            text += os.read(main, 65536)
        except OSError:
            break
    assert process.wait(30) == 130
    assert b"interrupted" in text
    assert b"Traceback" not in text


def heed_interrupts() -> None:
    """A shell that runs tests in the background has told its children to ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for_progress(terminal: int) -> None:
    """Until the progress bar has moved: the training loops run."""
    deadline, text = time.monotonic() + 120, b""
    while b"%" not in text:
        assert time.monotonic() < deadline, text
        text += os.read(terminal, 65536)
