"""Names in folders that are no part of a dump: what tools leave beside their data."""

MANIFEST = "_kcompact.json"
UNFINISHED = "_unfinished-"
SUCCESS = "_SUCCESS"
_MARKS = {
    MANIFEST,
    SUCCESS,
    "_metadata",  # and the next: Parquet's, of all files of a folder
    "_common_metadata",
    "_spark_metadata",
    "_temporary",
    "_delta_log",
    "_logs",
    "+tmp",  # of Confluent's HDFS sink: files that are not whole
    "__MACOSX",
}
_BEGINNINGS = (".", "_started_", "_committed_", UNFINISHED)


def is_mark(name: str) -> bool:
    """Whether a file or folder of that name is left out; ``_schemas`` and its like are topics like others."""
    return name in _MARKS or name.startswith(_BEGINNINGS)
