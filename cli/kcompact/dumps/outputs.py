"""Which files a run writes, decided before any work: names, refusals, the report folder."""

import os
from dataclasses import dataclass
from pathlib import Path, PurePath

from kcompact.dumps.layout import DumpFile
from kcompact.dumps.writers.writer import Writer
from kcompact.errors import OutputError

STDIO = "-"
DATA_SUFFIXES = {".json", ".jsonl", ".ndjson", ".avro", ".csv", ".tsv", ".txt", ".log", ".dump"}
CONTAINER_SUFFIXES = {".gz", ".bz2", ".zst", ".zstd", ".xz", ".lz4"}


@dataclass(frozen=True)
class Target:
    """One output file and the input files whose survivors it takes, in order.

    ``writer`` is set where they are written in another format; else their bytes are copied.
    """

    path: Path
    files: tuple[DumpFile, ...]
    writer: Writer | None = None


@dataclass(frozen=True)
class OutputPlan:
    """Where a run writes. ``folder`` is set where the outputs lie in one folder, published as a whole."""

    targets: tuple[Target, ...]
    folder: Path | None = None
    to_stdout: bool = False
    report: Path | None = None

    @property
    def result(self) -> Path | None:
        """The file or folder that holds the survivors; None for standard output."""
        return None if self.to_stdout else self.folder or self.targets[0].path

    def published(self) -> list[Path]:
        """Every path that will be there afterwards."""
        return [path for path in (self.result, self.report) if path is not None]


@dataclass(frozen=True)
class OutputChoice:
    """What the user said about the output: ``-o``, ``--overwrite``, ``--report``, ``--no-report``."""

    output: str | None = None
    overwrite: bool = False
    report: str | None = None
    no_report: bool = False


def plan_outputs(arguments: list[str], files: tuple[DumpFile, ...], options: OutputChoice) -> OutputPlan:
    """Decide all output paths; OutputError where one is missing, in the way, or an input."""
    plan = _without_report(arguments, files, options)
    plan = OutputPlan(plan.targets, plan.folder, plan.to_stdout, _report_folder(plan, options))
    _refuse_inputs(plan, arguments, files)
    if not options.overwrite:
        _refuse_existing(plan)
    return plan


def split_suffixes(name: str) -> tuple[str, str]:
    """``orders.v1.jsonl.gz`` into ``orders.v1`` and ``.jsonl.gz``."""
    path = PurePath(name)
    container = path.suffix if path.suffix.lower() in CONTAINER_SUFFIXES else ""
    stem = name.removesuffix(container)
    suffix = PurePath(stem).suffix
    if suffix.lower() not in DATA_SUFFIXES:
        # An unknown last suffix still is one (".ndj"), unless a container's suffix already was.
        suffix = "" if container else suffix
    return stem.removesuffix(suffix), suffix + container


def _without_report(arguments: list[str], files: tuple[DumpFile, ...], options: OutputChoice) -> OutputPlan:
    output = options.output
    if output is None and arguments == [STDIO]:
        output = STDIO
    if output == STDIO:
        return OutputPlan((Target(Path(STDIO), files),), to_stdout=True)
    if output is not None:
        return _named(arguments, files, output)
    if len(arguments) == 1 and Path(arguments[0]).is_dir():
        folder = Path(arguments[0].rstrip("/") or "/").resolve()
        return _in_folder(files, folder.with_name(f"{folder.name}.compacted"), Path(arguments[0]))
    if len(arguments) == 1 and len(files) == 1 and Path(arguments[0]).is_file():
        path = Path(arguments[0])
        stem, suffixes = split_suffixes(path.name)
        return OutputPlan((Target(path.with_name(f"{stem}.compacted{suffixes}"), files),))
    typed = " ".join(arguments)
    raise OutputError(
        f"{len(files)} input files and no output named",
        hint=f"one file each: kcompact compact {typed} -o compacted/  (or -o FILE to join them into one)",
    )


def _named(arguments: list[str], files: tuple[DumpFile, ...], output: str) -> OutputPlan:
    path = Path(output)
    if output.endswith("/") or path.is_dir() or (len(arguments) == 1 and Path(arguments[0]).is_dir()):
        base = Path(arguments[0]) if len(arguments) == 1 and Path(arguments[0]).is_dir() else None
        return _in_folder(files, path, base)
    return OutputPlan((Target(path, files),))


def _in_folder(files: tuple[DumpFile, ...], folder: Path, base: Path | None) -> OutputPlan:
    """One output per input, under the input's name (below ``base``, its path there)."""
    targets: dict[Path, DumpFile] = {}
    for file in files:
        name = Path(file.path).relative_to(base) if base else Path(Path(file.path).name)
        if name in targets:
            raise OutputError(
                f"two inputs are called {name}: {targets[name].path} and {file.path}",
                hint="compact them in two runs, or join them into one file with -o FILE",
            )
        targets[name] = file
    return OutputPlan(tuple(Target(folder / name, (file,)) for name, file in targets.items()), folder=folder)


def _report_folder(plan: OutputPlan, options: OutputChoice) -> Path | None:
    if options.no_report:
        return None
    if options.report is not None:
        return Path(options.report)
    if plan.result is None:
        return None
    name = plan.result.name if plan.folder else split_suffixes(plan.result.name)[0]
    return plan.result.with_name(f"{name}.report")


def _refuse_inputs(plan: OutputPlan, arguments: list[str], files: tuple[DumpFile, ...]) -> None:
    real = _RealPaths()
    inputs = {real[path] for path in [*arguments, *(file.path for file in files)] if path != STDIO}
    outputs = [target.path for target in plan.targets if not plan.to_stdout] + plan.published()
    for path in outputs:
        if real[str(path)] in inputs:
            raise OutputError(f"{path} is an input of this run", hint="name another output with -o")


class _RealPaths:
    """``os.path.realpath`` of many paths: of each folder it is found out once."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def __getitem__(self, path: str) -> str:
        folder, name = os.path.split(path)
        if name in {"", ".", ".."} or os.path.islink(path):  # noqa: PTH114  ten times as fast as Path
            return os.path.realpath(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return f"{self._folders[folder].rstrip('/')}/{name}"


def _refuse_existing(plan: OutputPlan) -> None:
    for path in plan.published():
        if os.path.lexists(path):
            raise OutputError(
                f"{path} exists already", hint="add --overwrite to replace it, or name another with -o"
            )
