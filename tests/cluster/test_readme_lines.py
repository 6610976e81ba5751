"""README's section on clusters, line by line, with a store and a cluster behind its names."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from s3_server import S3
from spark_cluster import cluster_environment, standalone_cluster
from store_runs import SECONDS, needs_jdk, put_sample

pytestmark = [pytest.mark.spark, needs_jdk]
README = Path(__file__).parents[2] / "README.md"
SECTION = README.read_text().partition("## Larger than one machine\n")[2].partition("\n## ")[0]
STORE_LINES, CLUSTER_LINES = (
    block.strip().splitlines() for block in re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)
)


@pytest.fixture(scope="module")
def archive(store: S3) -> S3:
    store.make_bucket("archive")
    put_sample(store, "s3://archive/orders/", packed=False)
    return store


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("driver")


def run_line(line: str, archive: S3, folder: Path) -> None:
    run = subprocess.run(
        ["bash", "-c", line],
        env=os.environ
        | archive.environment
        | cluster_environment()
        | {"TMPDIR": str(folder), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_the_lines_for_a_store(archive: S3, driver: Path) -> None:
    for line in STORE_LINES:
        run_line(line, archive, driver)
    assert "_SUCCESS" in archive.objects("s3://archive/orders.compacted/")
    assert "report.json" in archive.objects("s3://archive/orders.compacted.report/")
    assert any(name.endswith(".avro") for name in archive.objects("s3://archive/orders.avro/"))


@pytest.fixture(scope="module")
def master(archive: S3, driver: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("cluster") / "workers"
    with standalone_cluster(folder, driver, archive.environment) as url:
        yield url


@pytest.mark.at_length
@pytest.mark.parametrize("line", CLUSTER_LINES, ids=lambda line: line.split()[0])
def test_the_lines_for_a_cluster(line: str, archive: S3, driver: Path, master: str) -> None:
    run_line(line.replace("spark://host:7077", master), archive, driver)
    (output,) = re.findall(r"-o (\S+)", line)
    assert "_SUCCESS" in archive.objects(output)
