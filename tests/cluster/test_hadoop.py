"""HDFS in and out, and YARN as the master: the same records as from files on this machine."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hadoop_cluster import Hadoop, hadoop_cluster
from store_runs import SAMPLE, needs_jdk, records_of, run_kcompact

pytestmark = [pytest.mark.spark, pytest.mark.at_length, needs_jdk]
PUT = """
import sys
from pyarrow.fs import FileSystem
system, path = FileSystem.from_uri(sys.argv[1])
system.create_dir(path.rpartition("/")[0])
with system.open_output_stream(path) as file:
    file.write(sys.stdin.buffer.read())
"""
GET = """
import sys
from pathlib import Path
from pyarrow.fs import FileSelector, FileSystem
system, path = FileSystem.from_uri(sys.argv[1])
for info in system.get_file_info(FileSelector(path)):
    Path(sys.argv[2], info.base_name).write_bytes(system.open_input_file(info.path).read())
"""


@pytest.fixture(scope="module")
def hadoop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hadoop]:
    with hadoop_cluster(tmp_path_factory.mktemp("hadoop")) as cluster:
        _run_python(cluster, PUT, f"{cluster.hdfs}/archive/in/orders.jsonl", content=SAMPLE.read_bytes())
        yield cluster


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The sample compacted from a file to a file."""
    folder = tmp_path_factory.mktemp("here")
    run = run_kcompact("compact", SAMPLE, "-o", folder / "out.jsonl", environment={}, folder=folder)
    assert run.returncode == 0, run.stderr
    return (folder / "out.jsonl").read_bytes()


def _run_python(hadoop: Hadoop, code: str, *arguments: object, content: bytes = b"") -> None:
    line = [sys.executable, "-c", code, *map(str, arguments)]
    subprocess.run(line, input=content, env=os.environ | hadoop.environment, check=True, timeout=120)


def _records_below(hadoop: Hadoop, prefix: str, folder: Path) -> bytes:
    """All records of a prefix, by another reader than kcompact's."""
    copy = folder / "copy"
    copy.mkdir()
    _run_python(hadoop, GET, prefix, copy)
    return records_of({path.name: path.read_bytes() for path in copy.iterdir()})


def _settings(hadoop: Hadoop, *names: str) -> list[str]:
    """What executors on YARN need, as README says it; Spark's own jars lie where they look, too."""
    jars = f"local:{hadoop.environment['SPARK_HOME']}/jars/*"
    executors = [f"spark.executorEnv.{name}={hadoop.environment[name]}" for name in names]
    return [word for setting in (f"spark.yarn.jars={jars}", *executors) for word in ("--conf", setting)]


@pytest.mark.parametrize("is_named", [True, False])
def test_hdfs_gives_what_a_disk_gives_by_its_name_or_by_hadoops_settings(
    hadoop: Hadoop, expected: bytes, tmp_path: Path, *, is_named: bool
) -> None:
    root = hadoop.hdfs if is_named else "hdfs://"
    before, after = f"{root}/archive/in/", f"{root}/archive/out-{is_named}/"
    lines: list[tuple[str, ...]] = [
        ("compact", before, "-o", after),
        ("compact", before, "-o", after, "--overwrite"),
        ("verify", before, after),
        ("inspect", after),
    ]

    for line in lines:
        run = run_kcompact(*line, environment=hadoop.environment, folder=tmp_path)
        assert (run.returncode, run.stderr.count("error")) == (0, 0), (line, run.stderr)

    assert _records_below(hadoop, f"{hadoop.hdfs}/archive/out-{is_named}", tmp_path) == expected


def test_yarn_gives_what_one_machine_gives(hadoop: Hadoop, expected: bytes, tmp_path: Path) -> None:
    settings = _settings(hadoop, "ARROW_LIBHDFS_DIR", "CLASSPATH", "JAVA_HOME")
    line = ("compact", "hdfs:///archive/in/", "-o", "hdfs:///archive/there/", "--master", "yarn", *settings)

    run = run_kcompact(*line, environment=hadoop.environment, folder=tmp_path)

    assert run.returncode == 0, run.stderr
    assert _records_below(hadoop, f"{hadoop.hdfs}/archive/there", tmp_path) == expected


def test_survivors_come_from_yarn_to_a_file_of_the_drivers(
    hadoop: Hadoop, expected: bytes, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    settings = _settings(hadoop, "ARROW_LIBHDFS_DIR", "CLASSPATH", "JAVA_HOME")
    line = ("compact", "hdfs:///archive/in/", "-o", output, "--master", "yarn", *settings)

    run = run_kcompact(*line, environment=hadoop.environment, folder=tmp_path)

    assert run.returncode == 0, run.stderr
    assert output.read_bytes() == expected


@pytest.mark.parametrize(
    ("address", "variables", "sentence"),
    [
        ("hdfs:///archive/none/", {}, "there is no such object, and nothing below it"),
        ("hdfs://127.0.0.1:9/archive/in/", {}, "the name node cannot be reached"),
        ("hdfs:///archive/in/", {"CLASSPATH": ""}, "Java or Hadoop's own client library is not found"),
    ],
)
def test_what_hdfs_lacks_is_a_sentence(
    address: str, variables: dict[str, str], sentence: str, hadoop: Hadoop, tmp_path: Path
) -> None:
    run = run_kcompact("inspect", address, environment=hadoop.environment | variables, folder=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert f"error: {address}: {sentence}\n" in run.stderr


def test_who_may_not_write_to_hdfs_leaves_nothing(hadoop: Hadoop, tmp_path: Path) -> None:
    bob = hadoop.environment | {"HADOOP_USER_NAME": "bob"}
    line = ("compact", "hdfs:///archive/in/", "-o", "hdfs:///archive/of-bob/")

    run = run_kcompact(*line, environment=bob, folder=tmp_path)

    assert (run.returncode, run.stdout) == (2, "")
    assert "the store refuses these credentials\n" in run.stderr
    look = run_kcompact("inspect", line[3], environment=hadoop.environment, folder=tmp_path)
    assert "there is no such object, and nothing below it" in look.stderr
