"""Names of files and folders that are no part of a dump: tools leave them beside their data."""

import re
from collections.abc import Sequence

MANIFEST = "_kcompact.json"
UNFINISHED = "_unfinished-"
SUCCESS = "_SUCCESS"
REPORT = ".report"  # the end of the name of a folder that holds REPORT_FILES
REPORT_FILES = ("report.json", "report.md", "report.html", "removed-keys.csv", "gaps.csv")
STATE_FILES = ("cleaner-offset-checkpoint", "delete-horizons", "output.json")
WORK = "_work-"
RUN_LETTERS = 8
NONCE_LETTERS = 6
_OF_RUNS = re.compile(
    rf"(topic=[^/]+/)?(partition=\d+/)?part-\d{{6}}-[a-z]{{{RUN_LETTERS}}}-[a-z]{{{NONCE_LETTERS}}}(\.[^/]+)?"
    rf"|{UNFINISHED}[a-z]{{{RUN_LETTERS}}}|{WORK}[a-z]{{{RUN_LETTERS}}}/(removed|gaps)-\d{{6,}}"
)
_FILES = {MANIFEST, SUCCESS, "_metadata", "_common_metadata"}  # the last two: Parquet's, for a whole folder
_FILES_BEGIN = (".", UNFINISHED)
_COMMITS = re.compile(r"_(started|committed)_(vacuum)?[0-9]+")  # of Databricks, by the numbers of writes
_FOLDERS = {
    "_spark_metadata",
    "_temporary",
    "_delta_log",
    "+tmp",  # of Confluent's HDFS sink: files that are not whole
    "__MACOSX",
}
_LOGS = "_logs"  # a folder of Hadoop's, or of a topic called so
_NO_DATA = (".crc", ".DS_Store")
_APPLE = "._"  # begins the names of files with macOS's metadata on other files
_OURS = ".kcompact-"  # a run's private folder


def is_of_runs(name: str) -> bool:
    """Whether some run of kcompact wrote the object of this name in an output prefix on a store."""
    return name in {MANIFEST, SUCCESS} or _OF_RUNS.fullmatch(name) is not None


def is_of_earlier_run(folder: str, names: set[str]) -> bool:
    """Whether a folder that holds these names, and nothing else, is a report or a state of kcompact's."""
    return names == {*STATE_FILES} or (folder.endswith(REPORT) and names == {*REPORT_FILES})


def is_mark(parts: Sequence[str]) -> bool:
    """Whether a file below a folder that the user named is left out; ``parts``: its path from there.

    ``_schemas`` and its like are ordinary topics, and so is a folder ``_committed_orders``.
    """
    *folders, name = parts
    is_marked = name in _FILES or name.startswith(_FILES_BEGIN) or _COMMITS.fullmatch(name) is not None
    return is_marked or any(map(is_marked_folder, folders))


def is_marked_folder(name: str) -> bool:
    """Whether all in a folder of that name is left out."""
    return name in _FOLDERS or name == _LOGS or name.startswith(".")


def doubtful_place(parts: Sequence[str]) -> tuple[str, ...]:
    """The path up to the part for which a file is left out, if it may be data all the same; else empty.

    That part is hidden, or it is a folder that may be called like a topic.
    """
    *folders, name = parts
    for place, folder in enumerate(folders, start=1):
        if is_marked_folder(folder):
            return () if folder in _FOLDERS or folder.startswith(_OURS) else tuple(parts[:place])
    is_hidden = name.startswith(".") and not name.endswith(_NO_DATA) and not name.startswith(_APPLE)
    return tuple(parts) if is_hidden else ()
