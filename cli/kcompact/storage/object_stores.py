"""Lists, reads, writes and deletes objects of a store, and files of HDFS, by their addresses."""

import io
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from kcompact.errors import InputError, OutputError
from kcompact.storage.file_systems import located, parts_of, refuse_odd_parts
from kcompact.storage.store_errors import explained, in_words, is_refusal, no_such_bucket

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

SCHEMES = ("s3", "gs", "abfss", "hdfs")
_OTHER_NAMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss"}
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_ONE_SLASH = re.compile(r"(?P<scheme>s3|gs|abfss|hdfs):/(?P<rest>[^/].*)", re.DOTALL)
_PART_BUFFER_BYTES = 1 << 20


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
    """The remedy for an address that is of none of SCHEMES, or misspelt; None for a right one, or a path."""
    if address.lower().startswith("file:/"):  # with one slash as Hadoop writes it, else with three
        return f"write the path alone: /{address[len('file:') :].lstrip('/')}"
    if slip := _ONE_SLASH.match(address):
        if slip["scheme"] == "hdfs":
            return f"write it with three slashes: hdfs:///{slip['rest']}"
        return f"write it with two slashes: {slip['scheme']}://{slip['rest']}"
    match = _ADDRESS.match(address)
    if match is None or match["scheme"] in SCHEMES:
        return None
    scheme = match["scheme"].lower()
    if _OTHER_NAMES.get(scheme, scheme) in SCHEMES:
        return f"write it as {_OTHER_NAMES.get(scheme, scheme)}://{match['rest']}"
    return f"known are {', '.join(f'{scheme}://' for scheme in SCHEMES)} and local files"


def refuse_other_address(option: str, path: str) -> None:
    """Raise OutputError for an address that kcompact does not know, which would be read as a local path."""
    hint = address_hint(path)
    if hint is not None:
        raise OutputError(f"{option} {path}: an address that kcompact does not know", hint=hint)


def list_objects(address: str) -> list[StoredObject]:
    """The object at an address, or all objects below it as a folder, by address. Empty if there are none."""
    from pyarrow.fs import FileType

    system, path = located(address)
    with explained(address):
        entry = system.get_file_info(path)
        is_object = entry.type == FileType.File and not address.endswith("/")
        if is_object and entry.size:
            return [StoredObject(address, entry.size, entry.mtime_ns)]
        # For Azure "not found" may be wrong: pyarrow sees only the first of all names that begin like this.
        is_file_of_hdfs = entry.type == FileType.File and address.startswith("hdfs:")
        entries = [] if is_file_of_hdfs else _below(system, path, address)
        if is_object and not entries:  # with entries, it is the mark of a folder that Hadoop leaves on Azure
            entries = [entry]
        if entry.type == FileType.NotFound and not entries:
            _refuse_missing_bucket(system, address, path)
    files = [
        StoredObject(_address_of(address, info.path), info.size, info.mtime_ns)
        for info in entries
        if info.type == FileType.File
    ]
    for file in files:
        refuse_odd_parts(file.address)
    return sorted(files, key=lambda file: file.address)


def _below(system: "FileSystem", path: str, address: str) -> list[Any]:
    """All entries below a folder. Azure is listed folder by folder: names with // would loop in pyarrow."""
    from pyarrow.fs import FileSelector, FileType

    entries: list[Any] = []
    is_azure = address.startswith("abfss:")
    folders = [path]
    for folder in folders:
        selector = FileSelector(folder, recursive=not is_azure, allow_not_found=True)
        entries += (infos := system.get_file_info(selector))
        below = [info.path.rstrip("/") for info in infos if is_azure and info.type == FileType.Directory]
        if folder in below:
            raise OSError("Empty path component")
        folders += below
    return entries


def _address_of(beside: str, path: str) -> str:
    """The address of a path that pyarrow lists, on the store and in the bucket of the address ``beside``."""
    scheme, authority, _ = parts_of(beside)
    key = path.lstrip("/") if scheme == "hdfs" else path.partition("/")[2]
    return f"{scheme}://{authority}/{key}"


def child_names(address: str, names: Collection[str]) -> set[str]:
    """The ``names`` that lie directly below a prefix. Empty if the store refuses to list them."""
    from pyarrow.fs import FileSelector, FileType

    system, path = located(address)
    of_gs = [f"{path}/{name}" for name in names if address.startswith("gs:")]  # which lists no folders
    try:
        infos = system.get_file_info(of_gs or FileSelector(path, allow_not_found=True))
        return {info.base_name for info in infos if info.type != FileType.NotFound} & {*names}
    except OSError as error:
        if not is_refusal(error):
            raise in_words(address, error, InputError) from None
        return set()  # a reader of one prefix alone may not be allowed to list those above


def _refuse_missing_bucket(system: "FileSystem", address: str, path: str) -> None:
    from pyarrow.fs import FileType

    bucket = path.strip("/").partition("/")[0]
    try:
        is_missing = system.get_file_info(bucket).type == FileType.NotFound
    except OSError as error:  # a token for what is in a container of Azure may not ask about that itself
        if not is_refusal(error):
            raise
    else:
        if is_missing and not address.startswith("hdfs:"):
            raise no_such_bucket(address)


def read(address: str) -> bytes:
    """The whole content of a small object. Raises InputError."""
    system, path = located(address)
    with explained(address), system.open_input_stream(path, compression=None) as source:
        return source.read()


def write(address: str, content: bytes) -> None:
    """Write a whole object. Raises InputError for an odd address, OutputError."""
    with create(address) as out:
        out.write(content)


def create(address: str) -> BinaryIO:
    """An object, open for writing. If it is closed because of an exception, the object is cut short.

    pyarrow publishes what it has when a stream is closed after an error (arrow #40502). So callers have to
    choose a name that nobody reads before the object is known to be whole. Raises OutputError.
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
    """Delete an object. It is no error if it is gone already. Raises InputError, OutputError."""
    from pyarrow.fs import FileType

    system, path = located(address)
    with explained(address, OutputError):
        try:
            system.delete_file(path)
        except OSError:  # HDFS raises the same error for a file that is not there
            if system.get_file_info(path).type != FileType.NotFound:
                raise


def delete_folder(address: str) -> None:
    """Delete all objects below a prefix, and the folder itself if the store keeps empty folders."""
    system, path = located(address)
    with explained(address, OutputError), suppress(FileNotFoundError):
        system.delete_dir(path)
