"""What reads our output may stop reading: that is no error."""

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
