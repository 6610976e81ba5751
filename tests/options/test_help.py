import re

import pytest
import typer

from kcompact.app import app

GROUP = typer.main.get_command(app)
assert isinstance(GROUP, typer.core.TyperGroup)
COMMANDS = GROUP.commands


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_says_what_it_does_and_nothing_of_it_is_taken_for_markup(name: str) -> None:
    for parameter in COMMANDS[name].params:
        text = getattr(parameter, "help", None)
        assert text, parameter.name
        assert not re.search(r"\[[a-z#/@]", text), text


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_shows_an_example_on_the_samples(name: str) -> None:
    assert re.search(rf"Example: .*kcompact {name} .*samples/", COMMANDS[name].help)
