"""Object stores and HDFS, through ``pyarrow.fs``: ``s3://``, ``gs://``, ``abfss://``, ``hdfs://``.

Credentials and endpoints are looked up where the call runs, as the store's own tools do (environment,
profile, instance role), and are never part of an address, a setting of Spark, or an error. Errors name the
address and what to look at; the store's own text stays out of them. pyarrow is imported late: most runs need
no store.
"""

import errno
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import urlsplit

from kcompact.errors import InputError, KcompactError, OutputError
from kcompact.storage.endpoints import await_server, s3_endpoint, s3_region

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

SCHEMES = ("s3", "gs", "abfss", "hdfs")
_OTHER_NAMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss"}
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_ONE_SLASH = re.compile(r"(?P<scheme>s3|gs|abfss|hdfs):/(?P<rest>[^/].*)", re.DOTALL)
_ATTEMPTS = 8  # with the client's growing pauses: half a minute of 503
_GS_SECONDS = 30  # else a quarter of an hour, in which no signal is heard
_PART_BUFFER_BYTES = 1 << 20

_WHERE = "as its own tools find them (environment, profile, role), on the machines of Spark's workers too"
# words of a store's error, the sentence, the hint
_KNOWN = (
    (
        r"NO_SUCH_BUCKET|bucket does not exist|ContainerNotFound",
        "there is no such bucket",
        "look at the name, the region and the endpoint",
    ),
    (
        r"ACCESS_DENIED|ACCESS_KEY_ID|SIGNATURE|EXPIRED_TOKEN|_CLIENT|\b40[13]\b|PERMISSION_DENIED|Authori?[sz]",
        "the store refuses these credentials",
        f"look at the credentials and what they may do; they are looked up {_WHERE}",
    ),
    (
        r"SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|REQUEST_TIMEOUT|THROTTLING|\b50[0234]\b",
        "the store does not answer, however often it is asked",
        "try again later; nothing was lost",
    ),
    (
        r"NETWORK_CONNECTION|resolve|Name or service|refused|timed out|UNAVAILABLE|ConnectException",
        "the store cannot be reached",
        "look at the network and at the endpoint (AWS_ENDPOINT_URL for S3)",
    ),
    (
        "Empty path component",
        "a name with // in it, which kcompact cannot ask a store for",
        "copy the objects to a prefix without //, as with aws s3 cp --recursive",
    ),
)


@dataclass(frozen=True)
class StoredObject:
    """An object, or a file of HDFS, by its address."""

    address: str
    size: int
    mtime_ns: int | None = None


def is_address(path: str) -> bool:
    """Whether an argument names something on a store."""
    return path.partition("://")[0] in SCHEMES and "://" in path


def address_hint(address: str) -> str | None:
    """The remedy for an address that is of none of SCHEMES, or misspelt; None for others, and for a path."""
    if slip := _ONE_SLASH.match(address):
        return f"write it with two slashes: {slip['scheme']}://{slip['rest']}"
    match = _ADDRESS.match(address)
    if match is None or match["scheme"] in SCHEMES:
        return None
    scheme = match["scheme"].lower()
    if _OTHER_NAMES.get(scheme, scheme) in SCHEMES:
        return f"write it as {_OTHER_NAMES.get(scheme, scheme)}://{match['rest']}"
    if scheme == "file":
        return f"write the path alone: {match['rest']}"
    return f"known are {', '.join(f'{scheme}://' for scheme in SCHEMES)} and local files"


def refuse_other_address(option: str, path: str) -> None:
    """Raise OutputError where an option names an address that would be taken for a folder here."""
    hint = address_hint(path)
    if hint is not None:
        raise OutputError(f"{option} {path}: an address that kcompact does not know", hint=hint)


def list_objects(address: str) -> list[StoredObject]:
    """The object of this address, or all below it as a folder, by address. Empty: there is nothing."""
    from pyarrow.fs import FileSelector, FileType

    system, path = located(address)
    with explained(address):
        entry = system.get_file_info(path)
        if entry.type == FileType.File and not address.endswith("/"):
            return [StoredObject(address, entry.size, entry.mtime_ns)]
        if entry.type == FileType.NotFound:
            _refuse_missing_bucket(system, address, path)
            return []
        entries = system.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
    root = address[: len(address.rstrip("/")) - len(path.rstrip("/"))]
    files = [
        StoredObject(root + info.path, info.size, info.mtime_ns)
        for info in entries
        if info.type == FileType.File
    ]
    for file in files:
        refuse_odd_parts(file.address)
    return sorted(files, key=lambda file: file.address)


def child_names(address: str) -> set[str]:
    """The names of objects and folders directly below a prefix. Empty where the store may not show them."""
    from pyarrow.fs import FileSelector

    system, path = located(address)
    try:
        return {info.base_name for info in system.get_file_info(FileSelector(path, allow_not_found=True))}
    except OSError as error:
        refused = isinstance(error, PermissionError) or re.search(_KNOWN[1][0], str(error), re.IGNORECASE)
        if not refused:
            raise _in_words(address, error, InputError) from None
        return set()  # a reader of one prefix alone may not be allowed to list those above


def _refuse_missing_bucket(system: "FileSystem", address: str, path: str) -> None:
    from pyarrow.fs import FileType

    bucket = path.strip("/").partition("/")[0]
    if not address.startswith("hdfs:") and system.get_file_info(bucket).type == FileType.NotFound:
        raise InputError(f"{address}: there is no such bucket", hint=_KNOWN[0][2])


def read(address: str) -> bytes:
    """The whole of a small object."""
    system, path = located(address)
    with explained(address), system.open_input_stream(path, compression=None) as source:
        return source.read()


def write(address: str, content: bytes) -> None:
    """Write an object as a whole."""
    with create(address) as out:
        out.write(content)


def create(address: str) -> BinaryIO:
    """An object, open for writing. If the file is closed on the way out of an exception, the object is cut.

    pyarrow publishes what it has when a stream is closed for an error (arrow #40502): whoever writes gives it
    a name that nobody reads before it is known to be whole.
    """
    system, path = located(address)
    with explained(address, OutputError):
        stream = system.open_output_stream(path, compression=None)
    return cast(BinaryIO, io.BufferedWriter(_Writer(address, stream), _PART_BUFFER_BYTES))


class _Writer(io.RawIOBase):
    """A stream of pyarrow; its errors name the address."""

    def __init__(self, address: str, stream: Any) -> None:
        super().__init__()
        self._address, self._stream, self._bytes = address, stream, 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._bytes

    def write(self, data: Any) -> int:
        with explained(self._address, OutputError):
            self._stream.write(bytes(data))
        self._bytes += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            with explained(self._address, OutputError):
                self._stream.close()


def delete(address: str) -> None:
    """Delete an object; what is gone already is no error."""
    system, path = located(address)
    with explained(address, OutputError), suppress(FileNotFoundError):
        system.delete_file(path)


def delete_folder(address: str) -> None:
    """Delete all below a prefix, and the folder itself where the store keeps empty ones."""
    system, path = located(address)
    with explained(address, OutputError), suppress(FileNotFoundError):
        system.delete_dir(path)


@contextmanager
def explained(address: str, kind: type[KcompactError] = InputError) -> Iterator[None]:
    """Inside, errors of a store come out as ours, in words of our own."""
    try:
        yield
    except FileNotFoundError as error:
        raise kind(f"{address}: there is no such object") from error
    except (OSError, ValueError) as error:
        raise _in_words(address, error, kind) from None  # its text may hold what is nobody's business


def _in_words(address: str, error: Exception, kind: type[KcompactError]) -> KcompactError:
    text = str(error)
    if isinstance(error, PermissionError) or getattr(error, "errno", None) == errno.EACCES:
        return kind(f"{address}: {_KNOWN[1][1]}", hint=_KNOWN[1][2])
    for words, sentence, hint in _KNOWN:
        if re.search(words, text, re.IGNORECASE):
            return kind(f"{address}: {sentence}", hint=hint)
    code = re.search(r"AWS Error ([A-Z_]+)", text)
    named = f" ({code[1]})" if code else ""
    return kind(f"{address}: the store cannot do what it is asked{named}", hint="look at its own log")


def refuse_odd_parts(address: str, kind: type[KcompactError] = InputError) -> None:
    """Refuse an address with ``.`` or ``..`` as a part: clients take such parts away, and go elsewhere."""
    key = address.partition("://")[2].partition("/")[2]
    if {".", ".."} & {*key.split("/")}:
        raise kind(
            f"{address}: a name with . or .. as a part, which kcompact cannot ask a store for",
            hint="write it without; objects that are called so: copy them to another name",
        )


def located(address: str) -> tuple["FileSystem", str]:
    """The file system of an address, and the path in it. Raises InputError."""
    parts = urlsplit(address)
    if not parts.netloc:
        raise InputError(f"{address}: names no bucket", hint="write s3://bucket/prefix/")
    refuse_odd_parts(address)
    if "@" in parts.netloc and parts.scheme not in {"abfss", "hdfs"}:
        raise InputError(
            f"{address}: an address holds no credentials",
            hint=f"write it without them; they are looked up {_WHERE}",
        )
    with explained(address):
        system = _system(parts.scheme, parts.netloc, s3_endpoint())
    key = address.partition("://")[2].partition("/")[2]
    if parts.scheme == "hdfs":
        return system, f"/{key}"
    bucket = parts.netloc.partition("@")[0] if parts.scheme == "abfss" else parts.netloc
    return system, f"{bucket}/{key}".rstrip("/")


@lru_cache(8)
def _system(scheme: str, authority: str, s3_endpoint: str) -> "FileSystem":
    from pyarrow.fs import FileSystem

    if scheme == "s3":
        return _s3(authority, s3_endpoint)
    patience = f"?retry_limit_seconds={_GS_SECONDS}" if scheme == "gs" else ""
    system, _ = FileSystem.from_uri(f"{scheme}://{authority}/{patience}")
    return system


def _s3(bucket: str, endpoint: str) -> "FileSystem":
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    options: dict[str, Any] = {
        "retry_strategy": AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        "allow_delayed_open": True,  # small objects take one request
        "region": s3_region(bucket, endpoint),
    }
    if endpoint:
        parts = urlsplit(endpoint)
        await_server(parts)
        options |= {"scheme": parts.scheme, "endpoint_override": parts.netloc + parts.path.rstrip("/")}
    return S3FileSystem(**options)
