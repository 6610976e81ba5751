"""Kubernetes as the master: what it refuses is a sentence, and its pods give what one machine gives."""

from pathlib import Path

import pytest

from kubernetes_api import Pods, api_server
from s3_server import S3
from spark_cluster import cluster_environment
from store_runs import SAMPLE, check_files_are_alike, check_parts_are_alike, needs_jdk, run_kcompact

pytestmark = [pytest.mark.spark, needs_jdk]
IMAGE = ("--conf", "spark.kubernetes.container.image=any")
GRANTED = ("--conf", "spark.kubernetes.authenticate.oauthToken=right")


def refusal(folder: Path, token: str, *options: str) -> list[str]:
    """What ``inspect`` prints where the API takes ``token`` alone."""
    settings = (*GRANTED, *options)
    with api_server(token) as master:
        run = run_kcompact(
            *("inspect", SAMPLE, "--master", master, *settings),
            environment=cluster_environment(),
            folder=folder,
        )
    assert (run.returncode, run.stdout) == (2, ""), run.stderr
    return run.stderr.splitlines()


def test_executors_of_no_image_are_not_waited_for(tmp_path: Path) -> None:
    error, hint = refusal(tmp_path, "right")
    assert error == "error: no image is named that Kubernetes could start executors from"
    assert hint.startswith("hint: --conf spark.kubernetes.container.image=")


def test_a_token_that_does_not_count_is_called_so(tmp_path: Path) -> None:
    error, hint = refusal(tmp_path, "another", *IMAGE)
    assert error.startswith("error: Kubernetes refuses: ")
    assert error.endswith("Message: Unauthorized.")
    assert hint.startswith("hint: kubectl's settings count (KUBECONFIG, else ~/.kube/config)")


@pytest.mark.at_length
def test_pods_without_a_common_disk_give_what_one_machine_gives(
    store: S3, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's own scheduler asks for the pods; its settings are where ``spark-defaults.conf`` has them."""
    driver, settings, nodes = (tmp_path_factory.mktemp(name) for name in ("driver", "settings", "nodes"))
    nodes.chmod(0o777)
    for folder in (nodes.parent, nodes.parent.parent):
        folder.chmod(0o711)
    lines = [
        GRANTED[1],
        IMAGE[1],
        "spark.kubernetes.executor.apiPollingInterval=1s",
        "spark.executor.memory=900m",
    ]
    (settings / "spark-defaults.conf").write_text("\n".join(lines))
    monkeypatch.setenv("SPARK_CONF_DIR", str(settings))

    with api_server("right", Pods(nodes, store.environment)) as master:
        check_parts_are_alike(store, driver, master)
        check_files_are_alike(store, driver, master)
