"""Help: short where people ask first, complete where they ask for all, nothing cut on a narrow terminal."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from conftest import Run
from kcompact.frame import app
from kcompact.options.output_options import AnswerFormat
from kcompact.options.verify_options import AnswerOptions
from kcompact.short_help import HELP, help_of

GROUP = typer.main.get_command(app)
assert isinstance(GROUP, typer.core.TyperGroup)
COMMANDS = GROUP.commands
Cli = Callable[..., Run]
each_command = pytest.mark.parametrize("name", sorted(COMMANDS))


def options_of(name: str) -> set[str]:
    return {
        word for parameter in COMMANDS[name].params for word in (*parameter.opts, *parameter.secondary_opts)
    }


@each_command
def test_every_option_says_what_it_does(name: str) -> None:
    for parameter in COMMANDS[name].params:
        assert getattr(parameter, "help", None), parameter.name


@pytest.mark.everyday(1)
@each_command
def test_an_option_that_counts_once_is_refused_where_it_is_given_twice(kcompact: Cli, name: str) -> None:
    """Of ``--partitions 0 --partitions 1`` one would be left out, and its records with it."""
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option" and not (parameter.multiple or parameter.is_flag):
            run = kcompact(name, "dump", *[parameter.opts[0], "1"] * 2)
            assert (run.exit_code, "is given 2 times" in run.stderr) == (2, True), parameter.opts


@pytest.mark.everyday(1)
@each_command
def test_what_is_empty_is_refused_but_for_a_key(kcompact: Cli, name: str) -> None:
    """``--absent-keys "$KEYS"`` of an unset variable was left out, and ``""`` was the working folder."""
    for parameter in COMMANDS[name].params:
        if not getattr(parameter, "is_flag", False) and parameter.name not in {"key", "key_base64"}:
            given = [f"{parameter.opts[0]}="] if parameter.param_type_name == "option" else [""]
            run = kcompact(name, "dump", *given)
            assert (run.exit_code, "names nothing" in run.stderr) == (2, True), parameter.opts


@pytest.mark.everyday(1)
@each_command
def test_an_option_is_no_value_of_the_one_before_it(kcompact: Cli, name: str) -> None:
    """``-o $OUTPUT --overwrite`` of an unset variable wrote a file called ``--overwrite``."""
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option" and not parameter.is_flag:
            run = kcompact(name, "dump", parameter.opts[0], "--overwrite")
            assert (run.exit_code, "names nothing but --overwrite" in run.stderr) == (2, True), parameter.opts
    run = kcompact(name, "--", "--overwrite")
    assert "--overwrite: no such file" in run.stderr


def test_every_command_has_a_short_help() -> None:
    assert set(HELP) == set(COMMANDS)


@pytest.mark.parametrize("name", [None, *sorted(COMMANDS)])
def test_the_short_help_fits_a_screen_of_80_columns_and_has_three_examples(name: str | None) -> None:
    lines = help_of(name).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert len(re.findall(r"^  kcompact .*(?:samples|build)/.*$", help_of(name), re.MULTILINE)) == 3


@each_command
def test_the_short_help_names_options_that_the_command_has(name: str) -> None:
    listed = re.findall(r"^ {2}(-.*?) {2,}", HELP[name], re.MULTILINE)
    words = {word for line in listed for word in re.findall(r"(?<!\S)--?[a-z0-9-]+", line)}
    assert 10 <= len(listed) <= 12
    assert words <= options_of(name)


def test_both_helps_tell_how_many_findings_are_named(kcompact: Cli) -> None:
    as_text, on_a_page = (
        AnswerOptions(report_format=each).most_findings for each in (AnswerFormat.TEXT, AnswerFormat.HTML)
    )
    long = " ".join(kcompact("verify", "--help-all").stdout.split())
    assert f"(default: {as_text} as text, all in JSON, else {on_a_page})" in long
    assert re.search(rf"--max-findings N .*\(text: {as_text}\)$", HELP["verify"], re.MULTILINE)


@each_command
def test_the_short_help_names_every_format(name: str, kcompact: Cli) -> None:
    (line,) = re.findall(r"--format FORMAT(.*(?:\n {20,}.*)?)", HELP[name])
    offered = (
        kcompact(name, "x", "--format", "?").stderr.partition("not one of ")[2].splitlines()[0].split(", ")
    )
    assert set(offered) <= set(re.findall(r"[a-z-]+", line))


@each_command
@pytest.mark.parametrize("word", ["--help", "-h"])
def test_both_words_show_the_short_help(name: str, word: str, kcompact: Cli) -> None:
    assert kcompact(name, word).stdout == help_of(name)
    run = kcompact(name, "x.jsonl", "--overwrite", word)
    assert (run.exit_code, run.stdout, run.stderr) == (0, help_of(name), "")


@each_command
def test_help_all_names_every_option_whole_at_80_columns(
    name: str, kcompact: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = kcompact(name, "--help-all").stdout
    assert options_of(name) - {str(COMMANDS[name].params[0].name)} <= set(
        re.findall(r"(?<!\S)--?[a-z0-9-]+", text)
    )
    assert max(map(len, text.splitlines())) <= 80
    assert not re.search("…|<bool>|{", text)


def test_a_file_may_be_named_like_the_word_for_help(kcompact: Cli) -> None:
    assert kcompact("inspect", "--", "-h").stderr == "error: -h: no such file or folder\n"


def test_without_arguments_the_help_is_shown_as_a_failure(kcompact: Cli) -> None:
    run = kcompact()
    assert (run.exit_code, run.stdout) == (2, help_of(None))


def test_help_needs_no_library() -> None:
    script = (
        "import sys; from kcompact.app import main; main(['compact', '-h']);"
        "assert not {'typer', 'rich', 'pyspark', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ["inspect", "x", "--format", "yaml"],
            "--format yaml: not one of text, json, markdown",
            "inspect --help",
        ),
        (["inspect", "x", "--max-gaps", "-3"], "--max-gaps -3: must be at least 0", "inspect --help"),
        (["inspect", "x", "--max-gaps", "few"], "--max-gaps few: not a whole number", "inspect --help"),
        (
            ["dirty-ratio", "x", "--fail-above", "3"],
            "--fail-above 3: must be at most 1",
            "dirty-ratio --help",
        ),
        (["dirty-ratio", "x", "--fail-above", "x"], "--fail-above x: not a number", "dirty-ratio --help"),
        (["compact"], "DUMP... is missing", "compact --help"),
        (["verify", "x", "--outptu"], "no such option: --outptu", "did you mean --output?"),
        (
            ["dirty-ratio", "x", "--null-keys", "drop"],
            "no such option: --null-keys",
            "it is an option of compact, verify; kcompact dirty-ratio --help",
        ),
        (["compact", "x", "--key", "k"], "no such option: --key", "it is an option of inspect;"),
        (["compat", "x"], "no such command 'compat'. Did you mean 'compact'?", "kcompact --help"),
        (["compact", "x", "-o"], "option '-o' requires an argument", "kcompact compact --help"),
    ],
)
def test_a_wrong_command_line_is_told_in_the_words_of_its_options(
    arguments: list[str], message: str, hint: str, kcompact: Cli
) -> None:
    run = kcompact(*arguments)
    assert (run.exit_code, run.stdout) == (2, "")
    error, advice = run.stderr.splitlines()
    assert error.startswith(f"error: {message}")
    assert advice.startswith("hint: ")
    assert hint in advice


def test_a_file_that_is_called_like_an_option_can_be_named(
    kcompact: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-dump.jsonl").touch()
    run = kcompact("inspect", "-dump.jsonl")
    assert (run.exit_code, run.stdout) == (2, "")
    assert run.stderr.splitlines()[1] == "hint: to name the file: ./-dump.jsonl"


def complete(*words: str) -> list[str]:
    """What bash would offer for the last word."""
    environment = {
        **os.environ,
        "_KCOMPACT_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    program = [sys.executable, "-c", "from kcompact.app import main; main([])"]
    run = subprocess.run(program, env=environment, check=True, capture_output=True, text=True)
    return run.stdout.split()


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["kcompact", "co"], {"compact"}),
        (["kcompact", "compact", "x", "--dialect", "kca"], {"kcat", "kcat-base64"}),
        (["kcompact", "compact", "x", "--to", ""], {"jsonl", "csv", "avro", "parquet", "kcat"}),
        (["kcompact", "verify", "x", "--format", "j"], {"json", "junit"}),
    ],
)
def test_a_shell_completes_commands_dialects_and_formats(words: list[str], offered: set[str]) -> None:
    assert set(complete(*words)) == offered


@pytest.mark.parametrize(
    ("shell", "word"), [("bash", "complete -o default"), ("zsh", "compdef"), ("fish", "complete --command")]
)
def test_the_completion_script_is_that_of_the_shell_asked_for(shell: str, word: str, kcompact: Cli) -> None:
    run = kcompact("--completion", shell)
    assert run.exit_code == 0
    assert word in run.stdout
    assert "_KCOMPACT_COMPLETE" in run.stdout
