"""What all commands promise: a help text for every option, and --json."""

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
