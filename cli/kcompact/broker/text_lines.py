"""Small text files beside a dump, line by line."""

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

from kcompact.broker.log_names import LogName
from kcompact.digits import INT_MAX, LONG_MAX, whole_number
from kcompact.errors import InputError

LONGEST_QUOTE = 60


Open = Callable[[str], AbstractContextManager[BinaryIO]]


def open_bytes(path: str) -> BinaryIO:
    """A file, open for reading as it is. Raises OSError."""
    return Path(path).open("rb")


def numbered_lines(
    path: str, errors: str = "strict", open_file: Open = open_bytes
) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers from 1, without line ends and a byte order mark.

    ``errors`` says what to do with bytes that are not UTF-8, as in ``bytes.decode``. Raises InputError.
    """
    number = 0
    try:
        with open_file(path) as file:
            for number, line in enumerate(file, start=1):
                text = line.removeprefix(BOM_UTF8) if number == 1 else line
                yield number, text.rstrip(b"\r\n").decode("utf-8", errors)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}:{number}: not UTF-8 text") from error


def read_text(path: str) -> str:
    """The whole of a small UTF-8 text file, line ends unchanged. Raises InputError."""
    try:
        data = Path(path).read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{path}:{line}: not UTF-8 text") from error


def numbers_by_log(
    lines: Iterable[tuple[int, str]], path: str, columns: str
) -> Iterator[tuple[int, LogName, list[int]]]:
    """Line number, log and numbers of each line that holds topic, partition and whole numbers between blanks.

    A ``[name]`` at the end of ``columns`` is optional. ``lines`` are numbered from 1; errors name ``path``.
    Blank lines and lines that start with ``#`` are skipped. Raises InputError for any other line.
    """
    most = len(columns.split())
    least = most - columns.count("[")
    for number, line in lines:
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        is_title = not any(char.isdigit() for char in line)
        if is_title or not least <= len(fields) <= most:
            hint = "is it a header line? Lines that begin with # are skipped" if is_title else None
            raise InputError(f"{path}:{number}: '{shown(line)}' is not '{columns}'", hint=hint)
        log = LogName(fields[0], partition_in(fields[1], path, number))
        yield number, log, [number_in(field, path, number) for field in fields[2:]]


def shown(line: str) -> str:
    """A line as a message quotes it: without blanks at its ends, and cut if it is long."""
    text = line.strip()
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}..."


def number_in(text: str, path: str, number: int, *, least: int = 0) -> int:
    """The whole number of 64 bits in a field. Raises InputError that names the line."""
    value = whole_number(text)
    if value is None:
        raise InputError(f"{path}:{number}: '{shown(text)}' is not a whole number")
    if value < least:
        raise InputError(f"{path}:{number}: {shown(text)} is below {least}")
    if value > LONG_MAX:
        raise InputError(f"{path}:{number}: {shown(text)} does not fit into 64 bits")
    return value


def partition_in(text: str, path: str, number: int) -> int:
    """The number of a partition in a field. Raises InputError that names the line."""
    value = number_in(text, path, number)
    if value > INT_MAX:
        raise InputError(f"{path}:{number}: {value} is not a partition: the largest is {INT_MAX}")
    return value
