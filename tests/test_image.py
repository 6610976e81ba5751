"""How a container starts: an executor where Spark on Kubernetes starts one, else kcompact."""

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

CI = Path(__file__).parents[1] / ".ci"
POD = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.7:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "1024m",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.9",
    "SPARK_EXECUTOR_POD_NAME": "kcompact-exec-3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_CONF_DIR": "/opt/spark/conf",
    **{f"SPARK_JAVA_OPT_{number}": f"-Dnumber={number} and a blank" for number in range(11)},
}


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A folder of programs that print what they are given, a line each, beside the entry of the image."""
    for name in ("java", "kcompact"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\npwd > {tmp_path}/started-in\necho {name}\nprintf "%s\\n" "$@"\n')
        program.chmod(0o755)
    for name in ("entrypoint", "executor"):
        (tmp_path / name).symlink_to(CI / name)
    return tmp_path


def started(folder: Path, *arguments: str, **variables: str) -> list[str]:
    path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "KCOMPACT": f"{folder}/kcompact", **variables}
    run = subprocess.run(
        [folder / "entrypoint", *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return run.stdout.splitlines()


def test_a_pod_of_an_executor_starts_spark_s_backend(bin_folder: Path) -> None:
    java, *options = started(bin_folder, "executor", **POD)
    assert java == "java"
    assert options[:11] == [f"-Dnumber={number} and a blank" for number in range(11)]
    assert options[11:] == [
        *("-Xms1024m", "-Xmx1024m", "-cp", f"/opt/spark/conf:{Path(pyspark.__file__).parent}/jars/*"),
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        *(
            "--driver-url",
            "spark://CoarseGrainedScheduler@10.0.0.7:7078",
            "--executor-id",
            "3",
            "--cores",
            "2",
        ),
        *("--app-id", "spark-1", "--hostname", "10.0.0.9", "--resourceProfileId", "0"),
        *("--podName", "kcompact-exec-3"),
    ]


def test_an_executor_runs_where_it_may_write(bin_folder: Path, tmp_path: Path) -> None:
    local = tmp_path / "local"
    local.mkdir()
    started(bin_folder, "executor", **POD, SPARK_LOCAL_DIRS=f"{local},/second")
    assert Path((tmp_path / "started-in").read_text().strip()).parent == local


def test_anything_else_is_kcompact_s(bin_folder: Path) -> None:
    assert started(bin_folder, "compact", "executor") == ["kcompact", "compact", "executor"]
    assert started(bin_folder, "executor", "--help") == ["kcompact", "executor", "--help"]
