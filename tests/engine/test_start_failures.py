"""A Spark that does not start: Java's reason in a sentence, and whatever may be to blame; no stack trace."""

import errno
import resource
import socket
import subprocess
from pathlib import Path

import pytest

from engine_runs import FULL_JDK, is_clean, run_python
from kcompact.engine.startup.jvm import Jvm
from kcompact.engine.startup.start_failures import last_words, not_started, refuse_odd_names
from kcompact.errors import EngineError, OutputError
from spark_cluster import cluster_environment

SAMPLE = Path(__file__).parents[2] / "samples" / "orders.jsonl"
BAD_FLAG = {"JDK_JAVA_OPTIONS": "-XX:NoSuchFlag"}
BAD_CORES = ("--conf", "spark.executor.cores=x")


def refusal(folder: Path, *options: str, **environment: str) -> list[str]:
    """What ``inspect`` prints when it ends with exit code 2 and leaves nothing."""
    line = ["inspect", str(SAMPLE), *options]
    run = run_python(
        f"from kcompact.app import main; raise SystemExit(main({line!r}))", folder, **environment
    )
    assert (run.returncode, run.stdout) == (2, ""), run.stderr
    assert is_clean(folder)
    return run.stderr.splitlines()


@pytest.mark.everyday(1)
@pytest.mark.parametrize("name", ["café", "a,b"])
def test_a_temporary_folder_that_java_could_not_name_is_refused_at_once(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    error, hint = refusal(folder, LC_ALL="C")
    assert error.startswith(f"error: {tmp_path}/")
    assert hint.startswith("hint: set TMPDIR to a folder")


def test_a_java_in_a_folder_that_it_could_not_name_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("locale.getencoding", lambda: "ascii")
    with pytest.raises(EngineError, match=r"caf\xe9/bin/java: Java cannot read this name") as refused:
        refuse_odd_names(tmp_path, Path("/opt/caf\xe9/bin/java"))
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("set LC_ALL=C.UTF-8")


def test_java_that_cannot_write_its_answer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk: it says nothing, and lives on."""
    monkeypatch.setattr("kcompact.engine.startup.jvm._LOOK_SECONDS", 0.01)
    folder = tmp_path / ".kcompact-run"
    folder.mkdir()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
            with pytest.raises(OutputError, match=f"^{tmp_path}: larger than files may become"):
                Jvm(process, folder).gateway()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            process.kill()
    assert list(folder.iterdir()) == []


def test_without_a_loopback_interface_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr("pyspark.java_gateway.launch_gateway", fail)
    monkeypatch.setattr(Jvm, "_wait_for_handshake", lambda _: (1, "secret"))
    with pytest.raises(EngineError, match=r"at 127[.]0[.]0[.]1: Network is unreachable"):
        Jvm(None, Path()).gateway()  # type: ignore[arg-type]  # no process is needed


def test_a_user_without_a_name_is_told_that_java_asks_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 4_000_000_001)
    assert "name of user 4000000001" in str(not_started("LoginException", ()).hint)


@pytest.mark.spark
def test_a_setting_that_spark_refuses_is_quoted_and_named(tmp_path: Path) -> None:
    error, hint = refusal(tmp_path, "--master", "local[1]", *BAD_CORES)
    assert error.startswith("error: Spark cannot be started: SparkIllegalArgumentException: [INVALID_CONF")
    assert "'x' in the config \"spark.executor.cores\"" in error
    assert hint.startswith("hint: look at --conf spark.executor.cores;")


@pytest.mark.spark
def test_a_flag_that_java_does_not_know_is_quoted_with_the_variable_that_has_it(tmp_path: Path) -> None:
    error, hint = refusal(tmp_path, "--master", "local[1]", **BAD_FLAG)
    assert error.endswith("Unrecognized VM option 'NoSuchFlag'")
    assert hint.startswith("hint: look at JDK_JAVA_OPTIONS;")


@pytest.mark.spark
@pytest.mark.skipif(FULL_JDK is None, reason="Spark's scripts start a full JDK only")
@pytest.mark.parametrize(
    ("options", "environment", "reason", "suspect"),
    [
        (BAD_CORES, {}, "Executor cores must be a positive number", "--conf spark.executor.cores"),
        ((), BAD_FLAG, "Unrecognized VM option 'NoSuchFlag'", "JDK_JAVA_OPTIONS"),
    ],
)
def test_spark_s_own_scripts_are_quoted_in_a_sentence_too(
    options: tuple[str, ...], environment: dict[str, str], reason: str, suspect: str, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as master:
        url = f"spark://127.0.0.1:{master.getsockname()[1]}"
        variables = cluster_environment() | environment
        error, hint = refusal(tmp_path, "--master", url, *options, **variables)
    assert error.startswith("error: Spark cannot be started: ")
    assert error.endswith(reason)
    assert hint.startswith(f"hint: look at {suspect};")


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("", ""),
        (
            "bin/spark-class: line 71: /no/bin/java: No such file\nx: line 97: CMD: bad array subscript\n",
            None,
        ),
        (
            'Exception in thread "main" org.apache.spark.SparkException: no\n\tat a.b(C.java)\n',
            "SparkException: no",
        ),
        (
            "Exception\n\tat a\nCaused by: java.net.BindException: in use\n\t... 3 more\n",
            "BindException: in use",
        ),
        ("Invalid heap\nError: Could not create the Java Virtual Machine.\n", "Invalid heap"),
        (
            "VM warning: x\n#\n# There is insufficient memory.\n# An error report is saved as:\n# /a.log\n",
            "There is insufficient memory.",
        ),
    ],
)
def test_java_s_last_word_on_the_cause_counts(log: str, reason: str | None, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(log)
    assert last_words(tmp_path / "log") == (log.splitlines()[0] if reason is None else reason)


def test_limits_that_java_needs_more_than_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (1000, -1))
    hint = str(not_started("Java ended", ()).hint)
    assert "ulimit -n" in hint
    assert "ulimit -v" in hint
