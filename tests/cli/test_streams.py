"""Closed standard streams, encodings that lack characters, and Ctrl-C before a command began."""

import builtins
import os
import subprocess
import sys

import pytest

from elasticgnn import __main__ as entrance

CLOSED = """
import os, sys
for handle in map(int, sys.argv[1].split(",")):
    os.close(handle)
sys.stdout = None if "1" in sys.argv[1] else sys.stdout
sys.stderr = None if "2" in sys.argv[1] else sys.stderr
from elasticgnn.cli.streams import prepare_streams
prepare_streams()
print("nowhere", file=sys.stderr)
print("nowhere", end="")
with open(sys.argv[2], "w") as file:
    file.write(str(file.fileno()))
    os.write(2, b"of a library")
"""


def run(*arguments: str, shell: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, "-m", "elasticgnn"]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, env={**os.environ, **environment}
    )


@pytest.mark.parametrize("closed", ["0", "1", "2", "0,1,2"])
def test_no_file_takes_the_number_of_a_closed_stream(tmp_path, closed):
    output = tmp_path / "output"
    subprocess.run([sys.executable, "-c", CLOSED, closed, str(output)], check=True)
    assert int(output.read_text()) > 2  # and nothing else was written into it


def test_an_error_without_standard_error_is_not_taken_for_output(tmp_path):
    done = run("denoise", str(tmp_path / "absent.csv"), shell="2>&-")
    assert (done.returncode, done.stdout) == (2, "")


def test_output_without_standard_output_goes_nowhere():
    done = run("--version", shell=">&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_help_is_shown_where_the_encoding_lacks_characters():
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = run("denoise", "--help", **ascii_only)
    assert done.returncode == 0, done.stderr
    assert "values\\u2026" in done.stdout


def test_an_interrupt_while_commands_are_loaded_ends_with_130_and_a_word(monkeypatch, capsys):
    usual = builtins.__import__

    def interrupted(name, *rest):
        if name == "elasticgnn.cli.__main__":
            raise KeyboardInterrupt
        return usual(name, *rest)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(SystemExit) as ended:
        entrance.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"
