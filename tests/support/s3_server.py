"""An S3 server on loopback: moto, in a process of its own, with its objects in memory."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyarrow.fs import FileSelector, FileType, S3FileSystem

from free_ports import free_port

SECONDS_TO_START = 60


@dataclass(frozen=True)
class S3:
    """A running server, with the environment for processes that use it."""

    endpoint: str

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "a-key-of-tests",
            "AWS_SECRET_ACCESS_KEY": "a-secret-of-tests",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def _system(self) -> S3FileSystem:
        return S3FileSystem(
            access_key="a-key-of-tests",
            secret_key="a-secret-of-tests",  # noqa: S106  of no use anywhere
            region="us-east-1",
            scheme="http",
            endpoint_override=self.endpoint.removeprefix("http://"),
            allow_bucket_creation=True,
        )

    def make_bucket(self, name: str) -> None:
        self._system().create_dir(name)

    def put(self, address: str, content: bytes) -> None:
        with self._system().open_output_stream(address.removeprefix("s3://"), compression=None) as out:
            out.write(content)

    def get(self, address: str) -> bytes:
        with self._system().open_input_stream(address.removeprefix("s3://"), compression=None) as source:
            return source.read()

    def remove(self, address: str) -> None:
        """Remove all objects below a prefix."""
        self._system().delete_dir_contents(address.removeprefix("s3://"), missing_dir_ok=True)

    def remove_one(self, address: str) -> None:
        """Remove an object."""
        self._system().delete_file(address.removeprefix("s3://"))

    def objects(self, address: str) -> dict[str, bytes]:
        """All objects below a prefix, by the rest of their names."""
        path = address.removeprefix("s3://").rstrip("/")
        system = self._system()
        found = system.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
        return {
            info.path.removeprefix(path + "/"): self.get("s3://" + info.path)
            for info in sorted(found, key=lambda info: info.path)
            if info.type == FileType.File
        }


@contextmanager
def s3_server(log: Path) -> Iterator[S3]:
    """Start the server; it is stopped by its process id."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env=dict(os.environ)) as server,
    ):
        try:
            await_port(server, port)
            yield S3(f"http://127.0.0.1:{port}")
        finally:
            server.terminate()
            server.wait()


def await_port(server: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("a store of the tests did not start")
