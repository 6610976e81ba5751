"""Where stores other than S3 are and what opens them; and answers of theirs that are not what they seem."""

import errno
import socket
from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import FileInfo, FileSelector, FileSystemHandler, FileType, PyFileSystem

from kcompact.dumps.files.listed_files import SIGNS
from kcompact.errors import InputError, OutputError
from kcompact.storage import object_stores
from kcompact.storage.endpoints import AzureAccount, azure_account, check_google_credentials, gs_endpoint
from kcompact.storage.file_systems import parts_of
from kcompact.storage.object_stores import child_names, delete, list_objects

ADDRESS = "archive@acme.dfs.core.windows.net"
BLOBS = "https://acme.blob.core.windows.net"


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "CONNECTION_STRING",
        "ACCOUNT",
        "ACCOUNT_NAME",
        "KEY",
        "ACCOUNT_KEY",
        "ACCESS_KEY",
        "SAS_TOKEN",
    ):
        monkeypatch.delenv(f"AZURE_STORAGE_{name}", raising=False)
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)


@pytest.mark.parametrize(
    ("variables", "authority", "account"),
    [
        ({}, ADDRESS, AzureAccount("acme", BLOBS)),
        ({"KEY": "k"}, ADDRESS, AzureAccount("acme", BLOBS, "k")),
        ({"ACCOUNT_KEY": "k", "SAS_TOKEN": "?sv=1"}, ADDRESS, AzureAccount("acme", BLOBS, "k")),
        ({"SAS_TOKEN": "?sv=1&sig=a%3D"}, ADDRESS, AzureAccount("acme", BLOBS, "", "sv=1&sig=a%3D")),
        ({"ACCOUNT": "other", "KEY": "k"}, ADDRESS, AzureAccount("acme", BLOBS)),
        ({"ACCOUNT": "acme", "KEY": "k"}, "archive", AzureAccount("acme", BLOBS, "k")),
        (
            {"CONNECTION_STRING": "AccountName=acme;AccountKey=a/b==;EndpointSuffix=core.windows.net"},
            ADDRESS,
            AzureAccount("acme", BLOBS, "a/b=="),
        ),
        (
            {
                "CONNECTION_STRING": "AccountName=acme;AccountKey=k==;BlobEndpoint=http://127.0.0.1:10000/acme/"
            },
            "archive",
            AzureAccount("acme", "http://127.0.0.1:10000/acme", "k=="),
        ),
        (
            {"CONNECTION_STRING": f"BlobEndpoint={BLOBS}/;SharedAccessSignature=sv=1&sig=a%3D"},
            "archive",
            AzureAccount("acme", BLOBS, "", "sv=1&sig=a%3D"),
        ),
        (
            {"CONNECTION_STRING": "BlobEndpoint=https://b.blob.core.windows.net/;SharedAccessSignature=s"},
            ADDRESS,
            AzureAccount("acme", BLOBS),
        ),
        ({"CONNECTION_STRING": "AccountName=other;AccountKey=k=="}, ADDRESS, AzureAccount("acme", BLOBS)),
        (
            {},
            "archive@acme.dfs.core.chinacloudapi.cn",
            AzureAccount("acme", "https://acme.blob.core.chinacloudapi.cn"),
        ),
    ],
)
def test_an_account_of_azure_is_told_by_the_address_and_opened_by_its_own_key(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], authority: str, account: AzureAccount
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"AZURE_STORAGE_{name}", value)
    assert azure_account(authority) == account


def test_an_address_of_azure_without_an_account_is_refused() -> None:
    with pytest.raises(InputError, match="names no account") as error:
        list_objects("abfss://archive/orders/")
    assert error.value.hint == "write abfss://container@account.dfs.core.windows.net/prefix/"


def test_the_variable_of_googles_emulator_needs_no_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gs_endpoint() == ""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "localhost:4443")
    assert gs_endpoint() == "http://localhost:4443"
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "https://here")
    assert gs_endpoint() == "https://here"


def test_where_nothing_holds_credentials_of_googles_it_is_said_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GCE_METADATA_ROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("GCE_METADATA_HOST", f"127.0.0.1:{free.getsockname()[1]}")
        with pytest.raises(InputError, match="no credentials for Google are found"):
            list_objects("gs://bucket/in/")
    (tmp_path / "application_default_credentials.json").write_text("{}")
    check_google_credentials()


class Answers(FileSystemHandler):
    """A store with one object, ``bucket/in/a.jsonl``, that says of folders that there are none.

    ``sizes``: those of more; of folders -1.
    """

    def __init__(self, sizes: dict[str, int] | None = None, **errors: OSError) -> None:
        self.errors = errors
        self.sizes = {"bucket": -1, "bucket/in/a.jsonl": 3} | (sizes or {})

    def get_type_name(self) -> str:
        return "answers"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[FileInfo]:
        if (error := self.errors.get("get_file_info")) and "bucket" in paths:
            raise error
        types = {path: FileType.Directory if size < 0 else FileType.File for path, size in self.sizes.items()}
        return [
            FileInfo(path, types.get(path, FileType.NotFound), size=self.sizes.get(path)) for path in paths
        ]

    def get_file_info_selector(self, selector: FileSelector) -> list[FileInfo]:
        if error := self.errors.get("get_file_info_selector"):
            raise error
        return self.get_file_info(["bucket/in/a.jsonl"] if selector.base_dir == "bucket/in" else [])

    def delete_file(self, _: str) -> None:
        if error := self.errors.get("delete_file"):
            raise error

    def _unused(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = move = copy_file = _unused
    open_input_stream = open_input_file = open_output_stream = open_append_stream = _unused


def _answering(
    monkeypatch: pytest.MonkeyPatch, sizes: dict[str, int] | None = None, **errors: OSError
) -> None:
    system = PyFileSystem(Answers(sizes, **errors))
    monkeypatch.setattr(
        object_stores, "located", lambda address: (system, address.partition("://")[2].rstrip("/"))
    )


def test_a_folder_that_the_store_does_not_see_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow says "not found" of a folder of Azure if the name of another begins alike: in, in.compacted."""
    _answering(monkeypatch)
    assert [entry.address for entry in list_objects("gs://bucket/in/")] == ["gs://bucket/in/a.jsonl"]
    assert list_objects("gs://bucket/out/") == []
    with pytest.raises(InputError, match="there is no such bucket"):
        list_objects("gs://bouquet/in/")


def test_a_folder_of_googles_store_is_seen_that_it_does_not_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow lists the folders there that somebody has made, and no others: ``_delta_log`` may be none."""
    _answering(monkeypatch, {"bucket/in/_delta_log": -1})
    assert child_names("gs://bucket/in/", SIGNS) == {"_delta_log"}
    assert child_names("s3://bucket/in/", SIGNS) == set()
    assert child_names("s3://bucket/in/", ("a.jsonl", "b.jsonl")) == {"a.jsonl"}


def test_an_empty_object_called_as_a_folder_is_its_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hadoop leaves such marks on Azure."""
    _answering(monkeypatch, {"bucket/in": 0, "bucket/out": 0})
    assert [entry.address for entry in list_objects("s3://bucket/in")] == ["s3://bucket/in/a.jsonl"]
    assert [(entry.address, entry.size) for entry in list_objects("s3://bucket/out")] == [
        ("s3://bucket/out", 0)
    ]
    _answering(monkeypatch, {"bucket/in": 1})
    assert [entry.address for entry in list_objects("s3://bucket/in")] == ["s3://bucket/in"]


def test_names_with_two_slashes_on_azure_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow lists a folder of them as a folder in itself, and would look into that for ever."""

    class Circle(Answers):
        def get_file_info_selector(self, selector: FileSelector) -> list[FileInfo]:
            assert not selector.recursive
            below = {"bucket": ["bucket/in"], "bucket/in": ["bucket/in/a.jsonl", "bucket/in"]}
            return self.get_file_info(below[selector.base_dir])

    system = PyFileSystem(Circle({"bucket/in": -1}))
    monkeypatch.setattr(object_stores, "located", lambda _: (system, "bucket"))
    with pytest.raises(InputError, match="a name with // in it"):
        list_objects("abfss://bucket@acme/")


def test_below_a_file_of_hdfs_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    _answering(monkeypatch, get_file_info_selector=OSError("Unable to list directory"))
    assert list_objects("hdfs://bucket/in/a.jsonl/") == []


def test_an_empty_prefix_needs_no_leave_to_ask_about_its_container(monkeypatch: pytest.MonkeyPatch) -> None:
    _answering(monkeypatch, get_file_info=PermissionError(errno.EACCES, "no"))
    assert list_objects("gs://bucket/out/") == []
    _answering(monkeypatch, get_file_info=OSError("SLOW_DOWN"))
    with pytest.raises(InputError, match="does not answer"):
        list_objects("gs://bucket/out/")


@pytest.mark.parametrize("authority", ["b]", "a[b@acme", "[::1"])
def test_a_bucket_may_be_called_as_no_host_can_be(authority: str) -> None:
    assert parts_of(f"abfss://{authority}/in/a[0]?#") == ("abfss", authority, "in/a[0]?#")


def test_addresses_below_a_container_of_azure_keep_their_account() -> None:
    assert object_stores._address_of(f"abfss://{ADDRESS}/in/", "archive/in/a") == f"abfss://{ADDRESS}/in/a"
    assert object_stores._address_of("hdfs://host:8020/in/", "/in/a") == "hdfs://host:8020/in/a"
    assert object_stores._address_of("s3://bucket/in/", "bucket/in/a?b#c") == "s3://bucket/in/a?b#c"


def test_to_delete_what_is_gone_is_no_error_whatever_the_store_says(monkeypatch: pytest.MonkeyPatch) -> None:
    _answering(monkeypatch, delete_file=OSError(errno.EIO, "HDFS delete failed"))
    delete("gs://bucket/in/gone.jsonl")
    with pytest.raises(OutputError, match="the store cannot serve a request"):
        delete("gs://bucket/in/a.jsonl")


def test_hadoops_library_is_named_where_it_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    nowhere = str(tmp_path_factory.mktemp("nowhere"))
    for name in ("ARROW_LIBHDFS_DIR", "HADOOP_HOME", "JAVA_HOME"):
        monkeypatch.setenv(name, nowhere)
    for class_path in (nowhere, ""):  # which the library, where it is installed, ends the process without
        monkeypatch.setenv("CLASSPATH", class_path)
        for address in ("hdfs://localhost:8020/orders/", "hdfs:///orders/"):
            with pytest.raises(InputError, match="Java or Hadoop's own client library is not found") as error:
                list_objects(address)
            assert "CLASSPATH" in str(error.value.hint)
