"""What Kubernetes refuses is a sentence; the server here answers as the API does that has no pods."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from spark_cluster import cluster_environment
from store_runs import SAMPLE, needs_jdk, run_kcompact

pytestmark = [pytest.mark.spark, needs_jdk]
SECONDS_OF_A_WATCH = 1
IMAGE = ("--conf", "spark.kubernetes.container.image=any")


class Api(BaseHTTPRequestHandler):
    """Takes whatever is to be made, and lists nothing; to a wrong token it is closed."""

    token: str

    def do_GET(self) -> None:
        if "watch=true" in self.path:
            threading.Event().wait(SECONDS_OF_A_WATCH)  # a watch without events, which ends
            self._answer(200, b"")
        else:
            self._answer(200, _json(kind="PodList", metadata={"resourceVersion": "1"}, items=[]))

    def do_DELETE(self) -> None:
        self._answer(200, _json(kind="Status", status="Success"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] == f"Bearer {self.token}":
            self._answer(201, body)
        else:
            self._answer(401, _json(kind="Status", status="Failure", message="Unauthorized", code=401))

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _json(**members: object) -> bytes:
    return json.dumps({"apiVersion": "v1", **members}).encode()


@contextmanager
def api_server(token: str) -> Iterator[str]:
    """The master's URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("ApiWithToken", (Api,), {"token": token}))
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield f"k8s://http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


def refusal(folder: Path, token: str, *options: str) -> list[str]:
    """What ``inspect`` prints where the API takes ``token`` alone."""
    settings = ("--conf", "spark.kubernetes.authenticate.oauthToken=right", *options)
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
