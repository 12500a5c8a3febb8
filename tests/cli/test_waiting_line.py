"""While models are compared a terminal shows how it goes; what is written to a file does not."""

import os
import pty
import subprocess
import sys

import pytest


@pytest.fixture
def command(tmp_path):
    ring = "".join(f"n{k},n{(k + 1) % 40}\n" for k in range(40))
    (tmp_path / "e.csv").write_text("source,target\n" + ring)
    rows = "".join(f"n{k},{'ab'[k % 2]}\n" for k in range(40))
    (tmp_path / "l.csv").write_text("id,label\n" + rows)
    words = ["train", "--edges", "e.csv", "--labels", "l.csv", "--minutes", "0.01"]
    return [sys.executable, "-m", "elasticgnn", *words], tmp_path


def test_a_terminal_is_told_how_far_the_comparison_is(command):
    words, folder = command
    main, side = pty.openpty()
    done = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=side)
    os.close(side)
    shown = b""
    while True:
        try:
            shown += os.read(main, 65536)
        except OSError:  # the command has ended
            break
    printed = done.communicate()[0]
    assert done.returncode == 0
    assert b"comparing models" in shown
    assert b"best accuracy so far" in shown
    assert b"comparing models" not in printed


def test_a_file_is_not(command):
    words, folder = command
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == ""
