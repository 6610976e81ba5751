"""The session as the commands meet it: whole processes, their output and what they leave behind."""

import time
from pathlib import Path

import pytest

from engine_runs import is_clean, processes_of, run_python, wait_until
from kcompact.storage.scratch import scratch_folder

SAMPLE = str(Path(__file__).parents[2] / "samples" / "orders.jsonl")
pytestmark = pytest.mark.spark

COUNT_IN_A_WORKER = """
from kcompact.engine.session import SessionOptions, open_session

def count(batches):
    import pyarrow as pa
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict({"rows": pa.array([rows], pa.int64())})

with open_session(SessionOptions(master="local[2]")) as spark:
    print(spark.range(7, numPartitions=1).mapInArrow(count, "rows long").toArrow().to_pylist())
"""


def test_a_run_prints_nothing_of_its_own_and_leaves_nothing(tmp_path: Path) -> None:
    run = run_python(COUNT_IN_A_WORKER, tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "[{'rows': 7}]\n", "")
    assert wait_until(lambda: is_clean(tmp_path), seconds=0.5), processes_of(tmp_path)


_DIES = """
import os, signal
from kcompact.storage.scratch import scratch_folder
with scratch_folder():
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("quiet", [True, False])
def test_what_died_runs_have_left_is_removed_without_a_word_if_the_run_is_quiet(
    tmp_path: Path, quiet: bool
) -> None:
    run_python(_DIES, tmp_path)
    assert list(tmp_path.iterdir())
    line = ["inspect", SAMPLE, "--master", "local[1]", *(["-q"] if quiet else [])]
    run = run_python(f"from kcompact.app import main; raise SystemExit(main({line!r}))", tmp_path)
    assert run.returncode == 0
    assert (run.stderr == "") == quiet
    assert not list(tmp_path.iterdir())


def test_nothing_stays_in_the_folders_that_the_user_names_for_sparks_blocks(tmp_path: Path) -> None:
    named = [tmp_path / "named" / name for name in ("a", "b")]
    (tmp_path / "named" / "a").mkdir(parents=True)
    conf = f"spark.local.dir={','.join(map(str, named))}"
    line = ["inspect", SAMPLE, "--master", "local[1]", "-q", "--conf", conf]
    run = run_python(f"from kcompact.app import main; raise SystemExit(main({line!r}))", tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert [list(folder.iterdir()) for folder in named] == [[], []]


_DIES_WHILE_JAVA_STARTS = """
import os, signal
from kcompact.engine.startup.jvm import launch
from kcompact.engine.startup.settings import SessionOptions
launch(SessionOptions(master="local[1]"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_java_ends_though_the_run_died_before_it_answered_and_others_clear_up(tmp_path: Path) -> None:
    run_python(_DIES_WHILE_JAVA_STARTS, tmp_path)
    assert processes_of(tmp_path), "Java is still on its way"

    def is_over() -> bool:
        with scratch_folder(tmp_path):
            pass
        return is_clean(tmp_path)

    time.sleep(0.3)  # Java runs by then, and has not told its port yet
    assert wait_until(is_over, seconds=60), processes_of(tmp_path)


_JAVA_DIES_ONCE_ITS_CONTEXT_IS_MADE = """
from pathlib import Path
from kcompact.engine import session
from kcompact.engine.startup.aot_cache import AotCache

connect = session._connect

def connect_and_kill(java, options):
    connect(java, options)
    session._connect = connect
    java.process.kill()
    raise ConnectionError

session._connect = connect_and_kill
session.keep_py4j_quiet()  # as each run does: whether py4j logs a reset or an end, chance says
spark = session._OwnSpark(session.SessionOptions(master="local[1]"))
spark._cache, spark._cached = AotCache(Path("spark.aot")), True
print(spark.session().range(3).count())
spark.java.kill()
"""


def test_a_java_that_dies_while_a_cache_is_used_is_started_once_more(tmp_path: Path) -> None:
    run = run_python(_JAVA_DIES_ONCE_ITS_CONTEXT_IS_MADE, tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "3\n", "")


def test_a_folder_for_temporary_files_with_a_comma_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "a,b"
    folder.mkdir()
    run = run_python(
        f"from kcompact.app import main; raise SystemExit(main(['inspect', {SAMPLE!r}]))", folder
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"error: {folder}: Spark takes a comma")
    assert list(tmp_path.iterdir()) == [folder]


def test_the_first_task_waits_for_the_worker_that_is_woken_and_so_there_is_no_other(tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
sys.path.insert(0, TESTS)
from engine_runs import processes_of
from kcompact.engine.session import SessionOptions, open_session
from kcompact.engine.tasks import run_tasks

def id_of_a_task(spark):
    return run_tasks(spark, 1, lambda _: os.getpid())[0]

def id_of_a_query(spark):
    def process_id(batches):
        import os
        import pyarrow as pa
        yield pa.RecordBatch.from_pydict({"id": pa.array([os.getpid() for _ in batches], pa.int64())})

    return spark.range(1, numPartitions=1).mapInArrow(process_id, "id long").toArrow().to_pylist()[0]["id"]

def workers():
    running = processes_of(Path(os.environ["TMPDIR"]))
    return sorted(pid for pid in running if pid != os.getpid() and " pyspark.worker" in running[pid])

with open_session(SessionOptions(master="local[2]")) as spark:
    used, there = [id_of_a_task(spark)], workers()
    used.append(id_of_a_query(spark))
    # Three are the early process, the daemon forked from it, and what Java started for that.
    print(len(there) == 4, used[0] in there, used[0] == used[1], workers() == there)
""".replace("TESTS", repr(str(Path(__file__).parents[1] / "support")))

    run = run_python(code, tmp_path)

    assert (run.returncode, run.stdout, run.stderr) == (0, "True True True True\n", "")


def test_workers_have_the_callers_class_path_and_java_only_sparks(tmp_path: Path) -> None:
    """Hadoop's client library looks there for its settings; classes there may be of another Spark."""
    code = """
import os
from kcompact.engine.session import SessionOptions, open_session
from kcompact.engine.tasks import run_tasks

with open_session(SessionOptions(master="local[2]")) as spark:
    java = spark._jvm.System.getProperty("java.class.path").split(":")
    print(run_tasks(spark, 1, lambda _: os.environ["CLASSPATH"]), "/etc/hadoop" in java)
"""
    run = run_python(code, tmp_path, CLASSPATH="/etc/hadoop:/opt/hadoop.jar")

    assert (run.returncode, run.stdout, run.stderr) == (0, "['/etc/hadoop:/opt/hadoop.jar'] False\n", "")


@pytest.mark.parametrize(
    "variables",
    [
        {"SPARK_HOME": "/nonexistent", "SPARK_LOCAL_DIRS": "/nonexistent"},
        {"SPARK_CONNECT_MODE_ENABLED": "1", "SPARK_REMOTE": "sc://nowhere"},
        {"SPARK_PREFER_IPV6": "true"},
        {"JDK_JAVA_OPTIONS": "-Djava.net.preferIPv6Addresses=true"},
    ],
)
def test_where_the_user_has_spark_does_not_matter(variables: dict[str, str], tmp_path: Path) -> None:
    run = run_python(COUNT_IN_A_WORKER, tmp_path, **variables)
    assert (run.returncode, run.stdout, run.stderr) == (0, "[{'rows': 7}]\n", "")


def test_verbose_shows_sparks_log_on_stderr(tmp_path: Path) -> None:
    run = run_python(COUNT_IN_A_WORKER.replace('"local[2]"', '"local[2]", verbose=True'), tmp_path)
    assert run.stdout == "[{'rows': 7}]\n"
    assert "WARN" in run.stderr


def test_two_sessions_can_follow_each_other(tmp_path: Path) -> None:
    twice = COUNT_IN_A_WORKER + COUNT_IN_A_WORKER[COUNT_IN_A_WORKER.index("with open_session") :]
    run = run_python(twice, tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "[{'rows': 7}]\n" * 2, "")


def test_a_session_of_the_caller_is_borrowed_and_left_running(tmp_path: Path) -> None:
    code = """
from kcompact.engine.session import SessionOptions, open_session
with open_session(SessionOptions(master="local[2]")) as outer:
    with open_session(SessionOptions(master="local[1]")) as inner:
        print(inner is outer)
    print(outer.range(3).count())
"""
    run = run_python(code, tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "True\n3\n", "")


def test_a_heap_that_java_refuses_is_named(tmp_path: Path) -> None:
    code = """
from kcompact.engine.session import SessionOptions, open_session
from kcompact.errors import EngineError
try:
    with open_session(SessionOptions(driver_memory="99999999t")):
        pass
except EngineError as error:
    print(error.message)
"""
    run = run_python(code, tmp_path)
    assert "Spark cannot be started" in run.stdout
    assert "Invalid maximum heap size" in run.stdout
    assert is_clean(tmp_path)


def test_what_py4j_logs_about_a_java_that_has_ended_is_not_shown(tmp_path: Path) -> None:
    """Threads and objects that outlive a run may still ask it; py4j logs that with the root logger."""
    code = """
import logging
from kcompact.engine.session import SessionOptions, open_session

with open_session(SessionOptions(master="local[1]")) as spark:
    print(spark.range(3).count())
logging.exception("Exception while sending command.")
"""
    run = run_python(code, tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "3\n", "")


@pytest.mark.parametrize("input_bytes", [0, 10**9], ids=["small", "large"])
def test_the_least_heap_that_is_let_through_does(tmp_path: Path, input_bytes: int) -> None:
    code = COUNT_IN_A_WORKER.replace(
        '"local[2]"', f'"local[2]", driver_memory="512m", input_bytes={input_bytes}'
    )
    run = run_python(code, tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "[{'rows': 7}]\n", "")


def test_a_run_imports_no_pandas_here_or_in_its_workers(tmp_path: Path) -> None:
    code = """
import sys
from kcompact.engine.session import SessionOptions, open_session
from kcompact.engine.tasks import run_tasks

def has_pandas(_):
    import sys
    import pyarrow as pa
    return pa.array([1, 2]).to_pylist(), "pandas" in sys.modules

with open_session(SessionOptions(master="local[1]")) as spark:
    print(run_tasks(spark, 1, has_pandas), "pandas" in sys.modules)
"""
    run = run_python(code, tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "[([1, 2], False)] False\n", "")


@pytest.mark.parametrize("command", ["compact", "dirty_ratio", "inspect", "inspect_keys", "verify"])
def test_no_command_imports_pandas_with_its_modules(tmp_path: Path, command: str) -> None:
    """An array of Arrow that a module makes when it is imported would: 0.5 s and 30 MB."""
    code = f"""
import sys, kcompact.commands.{command}_run
print("pyarrow" in sys.modules, "pandas" in sys.modules)
"""
    run = run_python(code, tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "True False\n", "")


def test_what_is_collected_after_a_task_is_garbage_of_tasks_not_all_modules(tmp_path: Path) -> None:
    code = """
from kcompact.engine.session import SessionOptions, open_session
from kcompact.engine.tasks import run_tasks

def walked(_):
    import gc
    return gc.isenabled(), len(gc.get_objects()) * 10 < gc.get_freeze_count()

with open_session(SessionOptions(master="local[1]")) as spark:
    print(run_tasks(spark, 3, walked))
"""
    run = run_python(code, tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "[(True, True), (True, True), (True, True)]\n", "")
