"""What all commands promise: a help text for every option, and --json."""

import re

import pytest

from command_tree import COMMANDS


def test_the_commands_of_the_readme_are_there():
    assert {"train", "predict", "denoise", "study run", "report", "data list", "doctor"} <= set(
        COMMANDS
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself_and_prints_json(name):
    command = COMMANDS[name]
    options = {word for parameter in command.params for word in parameter.opts}
    assert "--json" in options
    assert len(command.help or "") > 20
    silent = [p.name for p in command.params if not getattr(p, "help", None)]
    assert silent == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_shows_an_example_of_itself(name):
    assert re.search(rf"Example: elasticgnn {name}\b", COMMANDS[name].help)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_word_of_a_help_text_is_read_as_markup(name):
    # rich takes [word ...] for a style and prints nothing
    texts = [COMMANDS[name].help, *(getattr(p, "help", "") for p in COMMANDS[name].params)]
    assert [text for text in texts if re.search(r"\[[a-zA-Z]", text or "")] == []
