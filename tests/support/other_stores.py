"""Stores other than S3 on loopback, in processes of their own: emulators of Google's and of Azure's."""

import base64
import hmac
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from pyarrow.fs import AzureFileSystem, FileSelector, FileSystem, FileType, GcsFileSystem

from free_ports import free_port
from s3_server import await_port

ACCOUNT = "devstoreaccount1"  # Azurite's own, as its key, which its manual states
AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@dataclass(frozen=True)
class OtherStore:
    """A running server: the address of a bucket in it, and the environment for processes that use it."""

    root: str
    environment: dict[str, str]
    system: FileSystem

    def put(self, name: str, content: bytes) -> None:
        with self.system.open_output_stream(f"bucket/{name}", compression=None) as out:
            out.write(content)

    def objects(self, prefix: str) -> dict[str, bytes]:
        """All objects below a prefix, by the rest of their names."""
        infos = self.system.get_file_info(
            FileSelector(f"bucket/{prefix}", recursive=True, allow_not_found=True)
        )
        return {
            info.path.removeprefix(f"bucket/{prefix}"): self._content(info.path)
            for info in sorted(infos, key=lambda info: info.path)
            if info.type == FileType.File
        }

    def _content(self, path: str) -> bytes:
        with self.system.open_input_stream(path, compression=None) as source:
            return source.read()


@contextmanager
def gs_server(folder: Path) -> Iterator[OtherStore]:
    """An emulator of Google's store, from PyPI; it is stopped by its process id."""
    port = free_port()
    module = "from gcp_storage_emulator.__main__ import main; main()"
    arguments = (
        "start",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--in-memory",
        "--default-bucket",
        "bucket",
    )
    with _running([sys.executable, "-c", module, *arguments], folder, port):
        system = GcsFileSystem(anonymous=True, scheme="http", endpoint_override=f"127.0.0.1:{port}")
        yield OtherStore("gs://bucket/", {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"}, system)


@contextmanager
def azure_server(folder: Path) -> Iterator[OtherStore]:
    """Azurite, Microsoft's emulator of Azure's store, from npm; it is stopped by its process id."""
    azurite = shutil.which("azurite-blob")
    assert azurite is not None, "npm install --global azurite"
    port = free_port()
    command = [azurite, "--blobPort", str(port), "--inMemoryPersistence", "--skipApiVersionCheck"]
    with _running([*command, "--disableTelemetry"], folder, port):
        place = f"127.0.0.1:{port}"
        system = AzureFileSystem(
            ACCOUNT,
            account_key=AZURITE_KEY,
            blob_storage_authority=place,
            dfs_storage_authority=place,
            blob_storage_scheme="http",
            dfs_storage_scheme="http",
        )
        system.create_dir("bucket")
        stated = f"AccountName={ACCOUNT};AccountKey={AZURITE_KEY};BlobEndpoint=http://{place}/{ACCOUNT};"
        environment = {"AZURE_STORAGE_CONNECTION_STRING": stated}
        yield OtherStore(f"abfss://bucket@{ACCOUNT}.dfs.core.windows.net/", environment, system)


def azure_token(rights: str) -> str:
    """A token (SAS) for the contents of the container, signed as Azure's REST reference says."""
    facts = {"sp": rights, "se": "2099-01-01T00:00:00Z", "sv": "2021-08-06", "sr": "c"}
    text = "\n".join(
        [rights, "", facts["se"], f"/blob/{ACCOUNT}/bucket", "", "", "", facts["sv"], facts["sr"], *[""] * 7]
    )
    digest = hmac.digest(base64.b64decode(AZURITE_KEY), text.encode(), "sha256")
    return urlencode(facts | {"sig": base64.b64encode(digest).decode()})


@contextmanager
def _running(command: list[str], folder: Path, port: int) -> Iterator[None]:
    with (
        (folder / "log").open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env=dict(os.environ), cwd=folder) as server,
    ):
        try:
            await_port(server, port)
            yield
        finally:
            server.terminate()
            server.wait()
