"""Small objects that are written conditionally: if there is none yet, or instead of the one last read.

``pyarrow.fs`` has no such writes, so these few objects go through ``obstore``, an extra of the package. It
finds credentials and endpoint as ``object_stores.py`` does, and its errors are reported in the same words.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kcompact.errors import InputError, KcompactError, OutputError
from kcompact.storage.endpoints import AzureAccount, place_of_store, s3_region
from kcompact.storage.file_systems import parts_of
from kcompact.storage.store_errors import explained

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_SECONDS = 30  # for which requests to a busy store are repeated


class ConflictError(Exception):
    """An object is not the one that a write expected: somebody else has written it."""


@dataclass(frozen=True)
class Version:
    """The facts by which a store tells an object from a later one of the same name."""

    e_tag: str | None
    version: str | None


class ConditionalObjects:
    """The objects below a prefix, by name."""

    def __init__(self, prefix: str) -> None:
        """Raise InputError if the store has no conditional writes, or a package for them is missing."""
        self.prefix = prefix
        scheme, authority, self._key = parts_of(prefix)
        _check_possible(prefix, scheme)
        with _explained(prefix, InputError):
            self._store = _store(scheme, authority)

    def read(self, name: str) -> tuple[bytes, Version] | None:
        """An object and its version, or None if there is none. Raises InputError."""
        import obstore

        with _explained(self.prefix + name, InputError):
            try:
                result = obstore.get(self._store, self._key + name)
                return bytes(result.bytes()), Version(result.meta["e_tag"], result.meta["version"])
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes, expected: Version | None) -> Version:
        """Write an object in place of the expected version (None: there must be none); return its version.

        Raises ConflictError, OutputError. No content may be written twice: if the answer to a successful
        write is lost, the client tries again and meets a conflict, and only the content tells that the object
        is ours.
        """
        try:
            return self._put(name, content, expected)
        except ConflictError:
            stored = self.read(name)
            if stored is None or stored[0] != content:
                raise
            return stored[1]

    def _put(self, name: str, content: bytes, expected: Version | None) -> Version:
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        facts = asdict(expected) if expected else {}
        mode: Any = {name: value for name, value in facts.items() if value is not None} or "create"
        with _explained(self.prefix + name, OutputError):
            try:
                put = obstore.put(self._store, self._key + name, content, mode=mode)
            except (AlreadyExistsError, PreconditionError) as error:
                raise ConflictError from error
            except FileNotFoundError as error:  # only the bucket has to be there
                raise OSError("NO_SUCH_BUCKET") from error
            return Version(put["e_tag"], put["version"])

    def delete(self, name: str) -> None:
        """Delete an object. It is no error if it is gone already. Raises OutputError."""
        import obstore

        with _explained(self.prefix + name, OutputError):
            try:
                obstore.delete(self._store, self._key + name)
            except FileNotFoundError:
                return


def _check_possible(prefix: str, scheme: str) -> None:
    if scheme == "hdfs":
        raise InputError(
            f"{prefix}: HDFS has no conditional writes, which keep two runs from changing one state at once",
            hint="keep the state on s3://, gs:// or abfss://, or with the dump on a disk",
        )
    packages = ["obstore", *(["boto3"] if scheme == "s3" else [])]  # boto3 knows profiles and roles
    if any(find_spec(package) is None for package in packages):
        raise InputError(
            f"{prefix}: a state on a store needs {' and '.join(packages)}, which are not all installed",
            hint=f"pip install {' '.join(packages)}",
        )


@contextmanager
def _explained(address: str, kind: type[KcompactError]) -> Iterator[None]:
    from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

    with explained(address, kind):
        try:
            yield
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise PermissionError from error
        except BaseError as error:
            raise OSError(str(error)) from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of Rust; no module has this class
                raise
            raise OSError(str(error)) from error


def _store(scheme: str, authority: str) -> "ObjectStore":
    from obstore.store import AzureStore, GCSStore, S3Store

    place = place_of_store(scheme, authority)
    endpoint = place if isinstance(place, str) else place.endpoint
    shared: Any = {
        "client_options": {"allow_http": endpoint.startswith("http:")},
        "retry_config": {"retry_timeout": timedelta(seconds=_SECONDS)},
    }
    settings: dict[str, Any] = {"endpoint": endpoint}
    if isinstance(place, AzureAccount):
        settings |= {"account_name": place.name, "account_key": place.key, "sas_key": place.sas_token}
        return AzureStore(authority.partition("@")[0], **_set(settings), **shared)
    if scheme == "gs":
        emulator = {"gcs_base_url": endpoint, "disable_oauth": True, "client_email": "", "private_key": ""}
        key = json.dumps(emulator | {"private_key_id": ""}) if endpoint else ""
        return GCSStore(authority, **_set({"service_account_key": key}), **shared)
    settings["region"] = s3_region(authority, endpoint)
    return S3Store(authority, credential_provider=_s3_credentials(), **_set(settings), **shared)


def _set(settings: dict[str, Any]) -> Any:
    """The settings that have a value. The client looks for the others where the store's own tools do."""
    return {name: value for name, value in settings.items() if value}


def _s3_credentials() -> Any:
    from botocore.exceptions import BotoCoreError
    from obstore.auth.boto3 import Boto3CredentialProvider

    try:
        return Boto3CredentialProvider()
    except (ValueError, BotoCoreError) as error:  # no credentials, or no such profile
        raise PermissionError from error
