"""The commands of README's table are commands, and their options exist."""

import re
import shlex
from pathlib import Path

import pytest

from command_tree import COMMANDS

README = (Path(__file__).parents[2] / "README.md").read_text()
TABLE = README.split("## Commands\n")[1].split("\n## ")[0]
FIRST_CELLS = [row.split(" | ")[0] for row in TABLE.splitlines() if row.startswith("| `")]
SHOWN = [text for cell in FIRST_CELLS for text in re.findall(r"`elasticgnn ([^`]+)`", cell)]


def parse(text: str) -> dict[str, object]:
    """The options with which the command of this line would run."""
    name = max((name for name in COMMANDS if f"{text} ".startswith(f"{name} ")), key=len)
    words = shlex.split(text.removeprefix(name))
    options: dict[str, object] = COMMANDS[name].make_context(name, words).params
    return options


def test_the_table_shows_every_command_but_the_demo():
    assert {text.split()[0] for text in SHOWN} == {n.split()[0] for n in COMMANDS} - {"demo"}


@pytest.mark.parametrize("text", SHOWN)
def test_a_command_of_the_table_is_understood(text):
    assert "as_json" in parse(text)


def test_an_unknown_option_would_be_found():
    with pytest.raises(Exception, match="No such option"):
        parse("train cora --splitz 10")
