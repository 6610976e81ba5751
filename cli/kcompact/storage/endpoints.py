"""Endpoints and keys of stores, from the environment variables of the stores' own tools.

pyarrow finds roles, profiles and credential files by itself. It does not look at Amazon's settings of an
endpoint, at the variables of Azure's command line, or at that of Google's emulator.
"""

import os
import re
import socket
import time
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from kcompact.errors import InputError

_SECONDS = 5  # to wait for a server that is starting, or cannot be reached
_AZURE_SUFFIX = "dfs.core.windows.net"
_GOOGLE_FILE = "application_default_credentials.json"
_CONNECTION = "AZURE_STORAGE_CONNECTION_STRING"
_KEYS = ("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY")
_ACCOUNTS = ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME")


def place_of_store(scheme: str, authority: str) -> "str | AzureAccount":
    """The account of an address of Azure, or the endpoint of another store, empty for its usual one.

    Raises InputError.
    """
    if scheme == "abfss":
        return azure_account(authority)
    return {"s3": s3_endpoint, "gs": gs_endpoint}.get(scheme, str)()


def s3_endpoint() -> str:
    """The endpoint of S3, if it is not Amazon's: from settings of Amazon's tools that pyarrow ignores."""
    if _variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").lower() == "true":
        return ""
    return _variable("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL") or _endpoint_of_profile()


def _endpoint_of_profile() -> str:
    """The ``endpoint_url`` of the profile in use: of its ``services`` for S3, else its own, else empty."""
    path = _expanded(_variable("AWS_CONFIG_FILE") or "~/.aws/config")
    settings = ConfigParser(interpolation=None, strict=False)
    try:
        settings.read(path, encoding="utf-8")
    except (ConfigError, UnicodeDecodeError):  # reported when credentials are looked for in this file
        return ""
    name = _variable("AWS_PROFILE", "AWS_DEFAULT_PROFILE") or "default"
    title = name if name == "default" else f"profile {name}"
    services = settings.get(title, "services", fallback="")
    of_s3 = settings.get(f"services {services}", "s3", fallback="")
    match = re.search(r"^endpoint_url\s*=\s*(\S+)$", of_s3, re.MULTILINE)
    return match[1] if match else settings.get(title, "endpoint_url", fallback="").strip()


def s3_region(bucket: str, endpoint: str) -> str | None:
    """The region of a bucket, or None for a server that is not Amazon's, which has none. Raises OSError."""
    from pyarrow.fs import resolve_s3_region

    named = _variable("AWS_REGION", "AWS_DEFAULT_REGION")
    return named or (None if endpoint else resolve_s3_region(bucket))


def gs_endpoint() -> str:
    """The endpoint of an emulator of Google's store, which needs no credentials, or empty without one."""
    endpoint = _variable("STORAGE_EMULATOR_HOST")
    return endpoint if "://" in endpoint or not endpoint else f"http://{endpoint}"


def check_google_credentials() -> None:
    """Raise InputError if there are no credentials, as Google's client would look for them for minutes.

    They are in a file, or come from the metadata server on a machine of Google.
    """
    folder = _variable("CLOUDSDK_CONFIG") or _expanded("~/.config/gcloud")
    is_logged_in = Path(folder, _GOOGLE_FILE).exists()
    if is_logged_in or _variable("GOOGLE_APPLICATION_CREDENTIALS"):
        return
    host, _, port = (
        _variable("GCE_METADATA_ROOT", "GCE_METADATA_HOST") or "metadata.google.internal"
    ).partition(":")
    try:
        socket.create_connection((host, int(port or 80)), timeout=_SECONDS).close()
    except OSError as error:
        raise InputError(
            "gs://: no credentials for Google are found",
            hint="gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS to a key file",
        ) from error


@dataclass(frozen=True)
class AzureAccount:
    """A storage account: the endpoint of its blobs, and its key or token, else Azure's default chain."""

    name: str
    endpoint: str
    key: str = ""
    sas_token: str = ""


def azure_account(authority: str) -> AzureAccount:
    """The account of an address ``container@account.dfs.core.windows.net``, or else that of the variables.

    A key or token of another account is not used. Raises InputError if nothing names an account.
    """
    stated = dict(part.partition("=")[::2] for part in _variable(_CONNECTION).split(";") if part)
    stated_host = urlsplit(stated.get("BlobEndpoint", "")).netloc  # with a token, only this names the account
    of_host = stated_host.partition(".")[0] if ".blob." in stated_host else ""
    stated_name = stated.get("AccountName") or of_host or _variable(*_ACCOUNTS)
    host = authority.partition("@")[2]
    name, _, suffix = host.partition(".")
    if not (name := name or stated_name):
        raise InputError(
            f"abfss://{authority}/: names no account, and AZURE_STORAGE_ACCOUNT is not set",
            hint="write abfss://container@account.dfs.core.windows.net/prefix/",
        )
    endpoint = f"https://{name}.{(suffix or _AZURE_SUFFIX).replace('dfs', 'blob', 1)}"
    if stated_name not in ("", name):
        return AzureAccount(name, endpoint)
    key = stated.get("AccountKey") or _variable(*_KEYS)
    token = stated.get("SharedAccessSignature") or _variable("AZURE_STORAGE_SAS_TOKEN")
    endpoint = stated.get("BlobEndpoint", endpoint).rstrip("/")
    return AzureAccount(name, endpoint, key, "" if key else token.removeprefix("?"))


def _variable(*names: str) -> str:
    """The first of these variables that is set, without blanks and line feeds around it; empty if none is."""
    return next((value for name in names if (value := os.environ.get(name, "").strip())), "")


def _expanded(path: str) -> str:
    """The path with the user's home for ``~``, or unchanged if there is no home."""
    try:
        return str(Path(path).expanduser())
    except RuntimeError:
        return path


def await_server(endpoint: str) -> None:
    """Raise OSError if no server listens at an endpoint, as its client would try for a minute."""
    parts = urlsplit(endpoint)
    place = parts.hostname or "", parts.port or {"http": 80}.get(parts.scheme, 443)
    deadline = time.monotonic() + _SECONDS
    while True:
        try:
            socket.create_connection(place, timeout=_SECONDS).close()
        except OSError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(1)
        else:
            return
