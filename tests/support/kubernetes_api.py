"""A server that answers as the API of Kubernetes does, and starts the containers of pods as processes here.

An executor's container is started as the image of ``Dockerfile`` starts it, by ``.ci/entrypoint``, with the
variables of the pod that Spark asked for; if this process is root's, it runs as another user.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from spark_cluster import cluster_environment, other_user

ENTRYPOINT = Path(__file__).parents[2] / ".ci" / "entrypoint"
SECONDS_OF_A_WATCH = 1
_FIELDS = {"status.podIP": lambda _: "127.0.0.1", "metadata.name": lambda pod: pod["metadata"]["name"]}


@dataclass
class Pods:
    """The pods of a server; the files of their containers lie below ``folder``."""

    folder: Path
    environment: Mapping[str, str]  # of every container, as if set by its image or its node
    asked: dict[str, Any] = field(default_factory=dict)  # name -> the pod as it was requested
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def start(self, pod: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        (container,) = pod["spec"]["containers"]
        place = self.folder / name
        place.mkdir(mode=0o777)
        place.chmod(0o777)
        described = {entry["name"]: _value(entry, pod) for entry in container["env"]}
        variables = {"PATH": f"{Path(sys.executable).parent}:{os.defpath}", "HOME": str(place)}
        variables |= cluster_environment() | self.environment | described
        variables |= {"SPARK_LOCAL_DIRS": str(place), "TMPDIR": str(place)}
        with (place / "log").open("wb") as log:
            line = [str(ENTRYPOINT), *container["args"]]
            process = subprocess.Popen(line, env=variables, stdout=log, stderr=log, cwd=place, **other_user())
        self.asked[name], self.processes[name] = pod, process

    def shown(self) -> list[dict[str, Any]]:
        """The pods as the API lists them."""
        return [pod | {"status": self._status(name)} for name, pod in [*self.asked.items()]]

    def _status(self, name: str) -> dict[str, Any]:
        code = self.processes[name].poll()
        phase = "Running" if code is None else "Succeeded" if code == 0 else "Failed"
        state = {"running": {}} if code is None else {"terminated": {"exitCode": code}}
        (container,) = self.asked[name]["spec"]["containers"]
        states = [{"name": container["name"], "state": state, "ready": code is None}]
        return {"phase": phase, "podIP": "127.0.0.1", "containerStatuses": states}

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.asked.clear()
        self.processes.clear()


def _value(entry: dict[str, Any], pod: dict[str, Any]) -> str:
    if "valueFrom" in entry:
        return str(_FIELDS[entry["valueFrom"]["fieldRef"]["fieldPath"]](pod))
    return str(entry.get("value", ""))


class _Api(BaseHTTPRequestHandler):
    """Accepts all objects that are created, lists only pods, and refuses a wrong token."""

    token: str
    pods: Pods | None

    def do_GET(self) -> None:
        if "watch=true" in self.path:
            threading.Event().wait(SECONDS_OF_A_WATCH)  # a watch without events, which ends
            self._answer(200, b"")
        else:
            items = self.pods.shown() if self.pods else []
            self._answer(200, _json(kind="PodList", metadata={"resourceVersion": "1"}, items=items))

    def do_DELETE(self) -> None:
        if self.pods:
            self.pods.stop()
        self._answer(200, _json(kind="Status", status="Success"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != f"Bearer {self.token}":
            self._answer(401, _json(kind="Status", status="Failure", message="Unauthorized", code=401))
            return
        if self.pods and self.path.partition("?")[0].endswith("/pods"):
            self.pods.start(json.loads(body))
        self._answer(201, body)

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
def api_server(token: str, pods: Pods | None = None) -> Iterator[str]:
    """The master's URL. Without ``pods``, none is ever started."""
    handler = type("Api", (_Api,), {"token": token, "pods": pods})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield f"k8s://http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
        if pods:
            pods.stop()
