from dataclasses import dataclass

import typer
from typer.testing import CliRunner

from kcompact.options.groups import OptionGroup, option, repeatable, spread_options


@dataclass(frozen=True)
class Fruit(OptionGroup):
    panel = "Fruit"
    apples: int = option("How many.", "N", default=1)
    pears: list[str] = repeatable("Of which trees.", "TREE")


def run(*arguments: str) -> tuple[int, str]:
    app = typer.Typer()

    @app.command()
    @spread_options
    def basket(names: list[str], *, fruit: Fruit, deep: bool = False) -> int:
        """Fill a basket."""
        typer.echo(f"{names} {fruit} {deep}")
        return 0

    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


def test_the_fields_of_a_group_are_options_and_arrive_as_one_value() -> None:
    _, output = run("x", "y", "--apples", "3", "--pears", "a", "--pears", "b", "--deep")
    assert output == f"['x', 'y'] {Fruit(3, ['a', 'b'])} True\n"


def test_options_not_given_have_their_defaults() -> None:
    assert run("x") == (0, f"['x'] {Fruit()} False\n")


def test_the_help_lists_them_under_the_command_s_own_text() -> None:
    _, output = run("--help")
    assert "Fill a basket." in output
    assert "--apples" in output
    assert "How many." in output
    assert "--fruit" not in output
