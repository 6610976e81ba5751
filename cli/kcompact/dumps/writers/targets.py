"""The registry of target formats, and which one an output's name asks for."""

from dataclasses import replace
from pathlib import Path, PurePath

from kcompact.broker.log_names import parse_log_name
from kcompact.dumps.files.containers import output_container
from kcompact.dumps.files.file_names import data_suffix, split_suffixes
from kcompact.dumps.output.assemble import around, parquet_form
from kcompact.dumps.output.outputs import OutputPlan, Target
from kcompact.dumps.output.workplace import PartFiles, Workplace
from kcompact.dumps.paired.side_files import CONVERT_HINT
from kcompact.dumps.records.layout import DumpFile
from kcompact.dumps.text.csv_reader import CsvShape
from kcompact.dumps.writers.avro_writer import AvroWriter
from kcompact.dumps.writers.parquet_writer import ParquetWriter
from kcompact.dumps.writers.text_writers import CsvWriter, JsonLinesWriter, KcatWriter
from kcompact.dumps.writers.writer import Writer
from kcompact.errors import OutputError

TARGETS: dict[str, type[Writer]] = {
    "jsonl": JsonLinesWriter,
    "csv": CsvWriter,
    "avro": AvroWriter,
    "parquet": ParquetWriter,
    "kcat": KcatWriter,
}
"""By the name that ``--to`` takes."""

_FORMATS = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".avro": "avro",
    ".parquet": "parquet",
}
"""By suffix, the format that it promises: any JSON, JSON lines, CSV with a header line, Avro, Parquet."""

_TEXT_SUFFIXES = {".txt", ".log", ".tsv", ".dump"}
"""Suffixes of text that promise no particular format."""

_OURS = ".compacted"  # before the suffix, where there is one
_CSV_DELIMITERS = {",", ";"}


def target_named(output: str, files: tuple[DumpFile, ...]) -> str | None:
    """The target that the suffix of ``output`` asks for; None if the files have it, so that bytes are copied.

    The suffix of the inputs always means None, whatever they contain. Raises OutputError for a suffix that
    names no format that kcompact can write.
    """
    suffix = data_suffix(output)
    formats = [_formats_of(file) for file in files]
    # Files side by side cannot be copied.
    are_named = all(data_suffix(file.path) == suffix and file.layout != "side_files" for file in files)
    if suffix in {"", _OURS} or are_named:
        return None
    target = _FORMATS.get(suffix)
    if target is None:
        others = {"avro", "parquet"} | ({"json"} if suffix == ".tsv" else set())
        if suffix in _TEXT_SUFFIXES and not any(of_file & others for of_file in formats):
            return None
        raise OutputError(
            f"{output}: kcompact does not write {suffix} files, or cannot write this dump as one",
            hint=f"end the name in {', '.join(_FORMATS)}, in the input's own suffix, or in none (for the"
            " input's format); or name the format with --to",
        )
    if all(target in of_file for of_file in formats):
        return None
    return "jsonl" if target == "json" else target


def _formats_of(file: DumpFile) -> set[str]:
    """The formats that a copy of the file's records already has."""
    if file.layout.startswith("json"):
        return {"json", "jsonl"} if file.layout == "json_lines" else {"json"}
    if isinstance(file.shape, CsvShape):
        return {"csv"} if file.shape.has_header and file.shape.delimiter in _CSV_DELIMITERS else {"text"}
    return {file.layout} if file.layout in {"avro", "parquet"} else {"text"}


def with_writers(outputs: OutputPlan, target: str | None) -> OutputPlan:
    """The plan with a writer for every output that is not in its inputs' format. Raises OutputError.

    ``target`` is what the user named with ``--to``; without it the names of the outputs decide.
    """
    if target is not None and (outputs.folder is not None or len(outputs.targets) != 1):
        raise OutputError(
            "--to writes a single output", hint="name it with -o FILE, or -o - for standard output"
        )
    if target is not None and not outputs.stored:
        _refuse_contradiction(str(outputs.targets[0].path), target)
    targets = []
    for output in outputs.targets:
        name = target or (
            None if outputs.folder or outputs.stored else target_named(str(output.path), output.files)
        )
        if name is None and any(file.layout == "side_files" for file in output.files):
            path = output.files[0].path
            hint = "add --to avro, --to parquet, --to jsonl or --to csv" if outputs.stored else CONVERT_HINT
            raise OutputError(f"{path}: keys and values are in separate files", hint=hint)
        if name is None and not outputs.stored:
            _refuse_logs_by_name(output)
        targets.append(output if name is None else replace(output, writer=open_writer(name, output.files)))
    return replace(outputs, targets=tuple(targets))


def _refuse_contradiction(output: str, target: str) -> None:
    """Raise OutputError where the name of an output promises another format than ``--to`` names."""
    promised = _FORMATS.get(data_suffix(output), target)
    if target in TARGETS and promised not in {target, target.removesuffix("l")}:
        name = split_suffixes(PurePath(output).name)[0]
        raise OutputError(
            f"-o {output} and --to {target}: which of the two?",
            hint=f"leave --to out for {promised}; a file of {target} may be called {name}.{target}",
        )


def _refuse_logs_by_name(output: Target) -> None:
    """Raise OutputError where the names of files tell their logs, and all would be copied into one file."""
    files = [file for file in output.files if file.layout != "dump_log"]
    topics = {file.topic for file in files if file.dialect.topic is None}
    partitions = {file.partition for file in files if file.dialect.partition is None}
    if max(len(topics), len(partitions)) > 1:
        raise OutputError(
            f"{files[0].path} and {files[-1].path}: their names tell topic or partition, and their records do"
            " not: in one file nobody could tell them apart",
            hint="-o DIR/ makes a file of each; --to jsonl, csv, avro or parquet writes both into all"
            " records; files of one topic go below a folder topic=NAME/",
        )


def check_one_log(outputs: OutputPlan, kept_logs: list[str]) -> None:
    """Raise OutputError for records of several logs in a format that cannot tell them apart."""
    if len(kept_logs) > 1 and any(target.writer and target.writer.one_log for target in outputs.targets):
        raise OutputError(
            f"kcat produces into one topic and partition, and these are {len(kept_logs)}:"
            f" {', '.join(kept_logs[:5])}",
            hint="choose one with --topic and --partitions; samples/replay.py replays them all",
        )


def open_writer(target: str, files: tuple[DumpFile, ...]) -> Writer:
    """The writer for a target, for records of these files. Raises OutputError for an unknown target."""
    if target not in TARGETS:
        raise OutputError(f"--to {target}: no such target", hint=f"one of {', '.join(TARGETS)}")
    return TARGETS[target]("\0".join(f"{file.path}\0{file.data_bytes}" for file in files))


def workplace(outputs: OutputPlan, folder: Path, *, reports: bool, is_afar: bool, is_here: bool) -> Workplace:
    """Where tasks leave their parts, and the pieces of reports. Raises OutputError.

    ``is_afar``: tasks do not see the folder; ``is_here``: they run on this machine.
    """
    if outputs.stored is None:
        own_outputs = _own_outputs(outputs) if is_here else frozenset()
        return Workplace(str(folder), is_afar=is_afar, own_outputs=own_outputs)
    target = outputs.targets[0]
    folders = {} if target.writer else {file.file_id: _folder_of_parts(file) for file in target.files}
    folders = folders if any(folders.values()) else {}
    parts = PartFiles(outputs.stored, *_kind_of_parts(target), around(target), parquet_form(target), folders)
    return Workplace(outputs.stored.work if reports else None, parts)


def _own_outputs(outputs: OutputPlan) -> frozenset[int]:
    """The ids of files whose copied survivors are a whole output by themselves."""
    if outputs.folder is None:
        return frozenset()
    return frozenset(target.files[0].file_id for target in outputs.targets if _is_plain(target))


def _is_plain(target: Target) -> bool:
    """Whether an output of a single file consists of the file's own bytes, neither converted nor packed."""
    file = target.files[0]
    if target.writer is not None or file.origin is not None or file.container is not None:
        return False
    return parquet_form(target) is None and output_container(target.path.name, file.path, None) is None


def _kind_of_parts(target: Target) -> tuple[str, str | None]:
    """The suffix of part files, and the container that they are packed in."""
    if target.writer is not None:
        return target.writer.suffix, None
    first = target.files[0]
    return split_suffixes(PurePath(first.path).name)[1], first.container


def _folder_of_parts(file: DumpFile) -> str:
    """The folder below a prefix that names the topic and partition, where a file's records do not.

    Raises OutputError where records lack more than names of folders can say.
    """
    dialect = file.dialect
    topic = "" if dialect.topic is not None else f"topic={file.topic}/"
    partition = "" if dialect.partition is not None else f"partition={file.partition}/"
    can_be_told = dialect.offset is not None and parse_log_name(f"{file.topic}-0") is not None
    if (topic or partition) and (file.layout == "dump_log" or not can_be_told):
        raise OutputError(
            f"{file.path}: its records do not say all of topic, partition and offset, nor could part files",
            hint="add --to jsonl, --to avro or --to csv: these formats say all three",
        )
    return topic + partition
