"""Our two consoles: what reads them may stop reading, and colours are for terminals."""

import os
import subprocess
import sys

PROGRAM = "import sys; from kcompact.app import main; sys.exit(main(['inspect', '--dialects']))"


def test_a_closed_pipe_ends_a_run_quietly() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()
    assert (process.returncode, complaint) == (0, "")


def test_the_word_error_is_red_on_a_terminal_alone() -> None:
    program = "from kcompact.app import main; main(['inspect', 'nowhere'])"
    for variables, shown in (
        ({"FORCE_COLOR": "1"}, "\x1b[1;31merror: \x1b[0mnowhere: no such file or folder\n"),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, "\x1b[1merror: \x1b[0mnowhere: no such file or folder\n"),
        ({}, "error: nowhere: no such file or folder\n"),
    ):
        plain = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "NO_COLOR"}}
        environment = plain | {"TERM": "xterm"} | variables
        run = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
        )
        assert run.stderr == shown
