"""Opens pyarrow's file system for an address: one function for each kind of store.

Credentials and endpoints are looked up on the machine where the call runs, as the store's own tools do
(environment, profile, instance role). They are never part of an address, a setting of Spark, or an error.
pyarrow is imported late, as most runs need no store.
"""

import os
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from kcompact.errors import InputError, KcompactError
from kcompact.storage.endpoints import (
    AzureAccount,
    await_server,
    azure_account,
    check_google_credentials,
    place_of_store,
    s3_region,
)
from kcompact.storage.store_errors import LOOKED_UP, explained

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_ATTEMPTS = 8  # with the client's growing pauses, half a minute of answers 503
_GS_SECONDS = 30  # the default is a quarter of an hour, in which no signal takes effect


class Address(NamedTuple):
    """The parts of an address, as they are written: the name of a bucket or object may hold any character."""

    scheme: str
    authority: str
    key: str


def parts_of(address: str) -> Address:
    """The parts of an address. The authority of HDFS may be empty, and left to Hadoop's settings.

    Raises InputError if the address names no bucket.
    """
    scheme, _, place = address.partition("://")
    authority, _, key = place.partition("/")
    if not (authority or scheme == "hdfs"):
        raise InputError(f"{address}: names no bucket", hint="write s3://bucket/prefix/")
    return Address(scheme, authority, key)


def unambiguous(address: str) -> str:
    """The same spelling for all addresses of an object: those of Azure may leave the account to a variable.

    Raises InputError if nothing names the account.
    """
    scheme, authority, key = parts_of(address)
    if scheme != "abfss":
        return address
    return f"{scheme}://{authority.partition('@')[0]}@{azure_account(authority).name.lower()}/{key}"


def located(address: str) -> tuple["FileSystem", str]:
    """The file system of an address, and the path in it. Raises InputError."""
    scheme, authority, key = parts_of(address)
    refuse_odd_parts(address)
    if "@" in authority and scheme not in {"abfss", "hdfs"}:
        raise InputError(
            f"{address}: an address holds no credentials",
            hint=f"write it without them; they are looked up {LOOKED_UP}",
        )
    with explained(address):
        system = _system(scheme, authority, place_of_store(scheme, authority))
    if scheme == "hdfs":
        return system, f"/{key}"
    bucket = authority.partition("@")[0] if scheme == "abfss" else authority
    return system, f"{bucket}/{key}".rstrip("/")


def refuse_odd_parts(address: str, kind: type[KcompactError] = InputError) -> None:
    """Raise ``kind`` for an address with a part ``.`` or ``..``: clients drop it, and go elsewhere."""
    key = address.partition("://")[2].partition("/")[2]
    if {".", ".."} & {*key.split("/")}:
        raise kind(
            f"{address}: a name with . or .. as a part, which kcompact cannot ask a store for",
            hint="write it without; copy objects with such names to other names",
        )


@lru_cache(8)
def _system(scheme: str, authority: str, place: str | AzureAccount) -> "FileSystem":
    if isinstance(place, AzureAccount):
        return _azure(place)
    if scheme == "s3":
        return _s3(authority, place)
    if scheme == "gs":
        return _gs(place)
    return _hdfs(authority)


def _s3(bucket: str, endpoint: str) -> "FileSystem":
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    options: dict[str, Any] = {
        "retry_strategy": AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        "allow_delayed_open": True,  # small objects take one request
        "region": s3_region(bucket, endpoint),
    }
    return S3FileSystem(**options, **_elsewhere(endpoint))


def _gs(endpoint: str) -> "FileSystem":
    from pyarrow.fs import GcsFileSystem

    if not endpoint:
        check_google_credentials()
    patience = timedelta(seconds=_GS_SECONDS)
    return GcsFileSystem(anonymous=bool(endpoint), retry_time_limit=patience, **_elsewhere(endpoint))


def _hdfs(authority: str) -> "FileSystem":
    """HDFS at a name node: without authority, the one of Hadoop's own settings (``fs.defaultFS``)."""
    from pyarrow.fs import FileSystem, FileType, HadoopFileSystem

    if not os.environ.get("CLASSPATH"):  # without it Hadoop's library ends the whole process
        raise OSError("libhdfs: CLASSPATH is not set")
    if authority:
        system, _ = FileSystem.from_uri(f"hdfs://{authority}/")
    else:
        system = HadoopFileSystem("hdfs:///", port=0)  # pyarrow's "default" would take a local disk as well
    if system.get_file_info("/").type == FileType.NotFound:  # also the answer if the name node is silent
        raise OSError("HDFS connection refused")
    return system


def _elsewhere(endpoint: str) -> dict[str, Any]:
    """Options that tell a client of pyarrow where its store is; none for an empty endpoint."""
    if not endpoint:
        return {}
    await_server(endpoint)
    parts = urlsplit(endpoint)
    return {"scheme": parts.scheme, "endpoint_override": parts.netloc + parts.path.rstrip("/")}


def _azure(account: AzureAccount) -> "FileSystem":
    from pyarrow.fs import AzureFileSystem

    parts = urlsplit(account.endpoint)
    # pyarrow puts the account before an authority that begins with a dot, and behind any other, as a path.
    authority = parts.netloc.removeprefix(account.name)
    if not authority.startswith("."):
        await_server(account.endpoint)
    return AzureFileSystem(
        account.name,
        account_key=account.key or None,
        sas_token=f"?{account.sas_token}" if account.sas_token else None,  # pyarrow appends it to addresses
        blob_storage_authority=authority,
        dfs_storage_authority=authority.replace("blob", "dfs", 1),
        blob_storage_scheme=parts.scheme,
        dfs_storage_scheme=parts.scheme,
    )
