"""How each file was recognised, and which part of a record each of its fields is."""

from typing import Any

from kcompact.dumps.dialects.dialect import ROLES, Dialect
from kcompact.dumps.records.layout import DumpFile
from kcompact.inspect.inspection import FileFacts

_AVRO = "Avro object container"


def file_facts(file: DumpFile) -> FileFacts:
    """The facts of one file; ``fields`` are paths in a record, or where else a part comes from."""
    dialect: Any = file.dialect
    paths = {role: path for role in ROLES if (path := getattr(dialect, role, None)) is not None}
    fields = {role: path or "(whole record)" for role, path in paths.items()}
    if getattr(dialect, "key_fields", ()):
        fields["key"] = f"({', '.join(dialect.key_fields)} of the value)"
    from_names = {"topic": file.topic, "partition": file.partition, "offset": file.start_offset}
    for role, value in from_names.items():
        if role not in fields and value is not None:
            fields[role] = f"({value}, from names)"
    has_dialect = isinstance(dialect, Dialect)
    return FileFacts(
        path=file.path,
        layout=file.layout,
        dialect=str(getattr(dialect, "name", file.layout)),
        tool=str(getattr(dialect, "tool", _AVRO)),
        sure=dialect.sure if has_dialect else True,
        file_bytes=file.data_bytes,
        container=file.container,
        fields=fields,
        key_encoding=getattr(dialect, "key_encoding", None),
        value_encoding=getattr(dialect, "value_encoding", None),
    )
