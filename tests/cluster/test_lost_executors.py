"""Executors that are killed in the middle of a run, with the blocks that they hold: the right result."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine_runs import processes_of
from s3_server import S3
from spark_cluster import cluster_environment, standalone_cluster
from store_proxy import Proxy, Request, store_proxy
from store_runs import needs_jdk, put_large, records_of, run_kcompact

pytestmark = [pytest.mark.spark, pytest.mark.at_length, needs_jdk]
IN, OUT = "s3://bucket/in/", "s3://bucket/out/"


@dataclass(frozen=True)
class Cluster:
    master: str
    folder: Path  # of its own files; its processes are told by it
    proxy: Proxy
    driver: Path

    def executors(self) -> list[int]:
        running = processes_of(self.folder)
        return [pid for pid, command in running.items() if "CoarseGrainedExecutorBackend" in command]

    def compact(self, place: str, output: str) -> bytes:
        run = run_kcompact(
            *("compact", IN, "-o", output, "-q", "--overwrite", "--master", place),
            environment=self.proxy.store.environment | cluster_environment(),
            folder=self.driver,
        )
        assert run.returncode == 0, run.stderr
        objects = self.proxy.store.objects(output)
        assert "_SUCCESS" in objects
        assert not [name for name in objects if "_unfinished" in name or "_work" in name]
        return records_of(objects)


@pytest.fixture(scope="module")
def cluster(store: S3, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    put_large(store, IN)
    driver = tmp_path_factory.mktemp("driver")
    folder = tmp_path_factory.mktemp("cluster") / "workers"
    with store_proxy(store) as proxy, standalone_cluster(folder, driver, proxy.store.environment) as url:
        yield Cluster(url, folder, proxy, driver)


@pytest.fixture(scope="module")
def survivors(cluster: Cluster) -> bytes:
    """What a run without faults leaves."""
    return cluster.compact("local[2]", "s3://bucket/right/")


@pytest.mark.parametrize(
    ("method", "path", "nth"),
    [
        pytest.param("GET", "/in/large-1", 1, id="while files are opened"),
        pytest.param("GET", "/in/large-1", 3, id="while the dump is read"),
        pytest.param("PUT", "/out/_work", 1, id="while survivors are copied"),
        pytest.param("PUT", "/out/part-000001", 1, id="while a part is written"),
    ],
)
def test_an_executor_that_is_killed_with_its_blocks_changes_nothing(
    method: str, path: str, nth: int, cluster: Cluster, survivors: bytes
) -> None:
    with killing(cluster, method, path, nth):
        found = cluster.compact(cluster.master, OUT)

    assert found == survivors


def test_an_executor_that_is_killed_on_the_way_to_the_drivers_disk_changes_nothing(
    cluster: Cluster, survivors: bytes
) -> None:
    output = cluster.driver / "brought.jsonl"

    with killing(cluster, "GET", "/in/large-1", 5):  # two to open it, two to read it: it is copied
        run = run_kcompact(
            *("compact", IN, "-o", output, "-q", "--master", cluster.master),
            environment=cluster.proxy.store.environment | cluster_environment(),
            folder=cluster.driver,
        )

    assert run.returncode == 0, run.stderr
    assert output.read_bytes() == survivors


@contextmanager
def killing(cluster: Cluster, method: str, path: str, nth: int) -> Iterator[None]:
    """Inside, an executor is killed when such a request is made for the nth time."""
    seen: list[int] = []

    def kill(request: Request) -> None:
        if request.method == method and path in request.path:
            seen.append(0)
            if len(seen) == nth:
                seen[-1] = min(cluster.executors())
                os.kill(seen[-1], signal.SIGKILL)

    cluster.proxy.fault = kill
    try:
        yield
    finally:
        cluster.proxy.fault = lambda _: None
    assert any(seen), "no executor was killed"
