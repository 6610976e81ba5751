"""What --master may say; and a run whose workers are in Java processes of their own."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import kcompact.__main__
from engine_runs import SECONDS, is_clean, processes_of, wait_until
from kcompact.engine.clusters import zip_package
from kcompact.engine.masters import MasterKind, kind_of_master, tried_again
from kcompact.errors import EngineError

SAMPLE = Path(__file__).parents[2] / "samples" / "orders.jsonl"


@pytest.mark.parametrize(
    ("master", "kind"),
    [
        ("local", MasterKind.LOCAL),
        ("local[*]", MasterKind.LOCAL),
        ("local[4]", MasterKind.LOCAL),
        ("local[4,2]", MasterKind.LOCAL),
        ("local-cluster[2,1,1024]", MasterKind.LOCAL_CLUSTER),
        ("spark://a:7077,b:7077", MasterKind.STANDALONE),
        ("sc://localhost:15002/;token=x", MasterKind.CONNECT),
        ("yarn", MasterKind.YARN),
        ("k8s://https://host:443", MasterKind.KUBERNETES),
    ],
)
def test_masters_that_are_known(master: str, kind: MasterKind) -> None:
    assert kind_of_master(master) is kind


@pytest.mark.parametrize(
    "master",
    ["yarn-client", "local[", "local[x]", "local[0]", "local[99999999999]", "", "k8s:x", "localhost:7077"],
)
def test_other_masters_are_refused_with_examples(master: str) -> None:
    with pytest.raises(EngineError, match="--master") as caught:
        kind_of_master(master)
    assert "spark://host:7077" in str(caught.value.hint)


@pytest.mark.slow
def test_the_shipped_zip_can_be_imported_from(tmp_path: Path) -> None:
    shipped = zip_package(tmp_path)
    code = "import kcompact.dumps.layouts as it; print(it.__file__)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(shipped)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == str(shipped / "kcompact" / "dumps" / "layouts.py")


@pytest.mark.slow
def test_standard_input_is_refused_where_workers_may_be_elsewhere() -> None:
    run = subprocess.run(
        [sys.executable, "-P", "-m", "kcompact", "inspect", "-", "--master", "spark://127.0.0.1:1"],
        input=SAMPLE.read_bytes(),
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr.startswith(b"error: -: workers of a cluster, or of spark-submit, cannot read")


@pytest.mark.spark
def test_a_command_within_a_program_of_spark_submit_starts_its_own_spark() -> None:
    environment = os.environ | {"PYSPARK_GATEWAY_PORT": "1", "PYSPARK_GATEWAY_SECRET": "of the other"}
    console_script = Path(sys.executable).with_name("kcompact")
    for program in ([console_script], [sys.executable, "-P", "-m", "kcompact"]):
        run = subprocess.run(
            [*program, "inspect", "-"],
            input=SAMPLE.read_bytes(),
            env=environment,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.slow
def test_the_file_that_spark_submit_runs_works_where_it_says() -> None:
    run = subprocess.run(
        [sys.executable, kcompact.__main__.__file__, "inspect", "-"],
        input=SAMPLE.read_bytes(),
        env=os.environ | {"PYSPARK_GATEWAY_PORT": "1", "PYSPARK_GATEWAY_SECRET": "secret"},
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert run.returncode == 2
    assert run.stderr.startswith(b"error: -: workers of a cluster, or of spark-submit, cannot read")


@pytest.mark.slow
def test_a_spark_home_of_another_version_than_pyspark_is_named(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.12-3.5.5.jar").touch()
    with socket.create_server(("127.0.0.1", 0)) as master:
        url = f"spark://127.0.0.1:{master.getsockname()[1]}"
        run = subprocess.run(
            [sys.executable, "-P", "-m", "kcompact", "inspect", SAMPLE, "--master", url],
            env=os.environ | {"SPARK_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert (run.returncode, run.stdout) == (2, "")
    message, hint = run.stderr.splitlines()
    assert message.startswith("error: SPARK_HOME is Spark 3.5.5, and the PySpark that Python finds here")
    assert 'PYTHONPATH=$(echo "$SPARK_HOME"/python/lib/*.zip' in hint


@pytest.mark.spark
def test_a_local_cluster_gives_the_same_bytes_and_leaves_nothing(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    outputs = []
    for master in ("local[2]", "local-cluster[2,1,1024]"):
        output = tmp_path / f"{len(outputs)}.jsonl"
        code = "import sys; from kcompact.app import main; sys.exit(main(sys.argv[1:]))"
        run = subprocess.run(
            [
                sys.executable,
                "-c",
                code,
                "compact",
                os.path.relpath(SAMPLE),
                "-o",
                output,
                "--master",
                master,
            ],
            env=os.environ | {"TMPDIR": str(temporary), "JAVA_HOME": "/nonexistent"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert (run.returncode, run.stderr) == (0, "")
        outputs.append(output.read_bytes())
    assert outputs[0] == outputs[1]
    assert wait_until(lambda: is_clean(temporary), seconds=5), processes_of(temporary)


@pytest.mark.parametrize(
    ("master", "spark_master"),
    [
        ("local", "local[1,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2]", "local[2,4]"),
        ("local[2,1]", "local[2,1]"),
        ("local[*, 7]", "local[*, 7]"),
        ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]"),
        ("spark://host:7077", "spark://host:7077"),
    ],
)
def test_a_task_whose_worker_dies_is_tried_again_unless_the_master_says_how_often(
    master: str, spark_master: str
) -> None:
    assert tried_again(master) == spark_master
