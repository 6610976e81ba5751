"""Decides, before any other work, which files a run writes: their names, refusals, the report folder."""

import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from kcompact.counted import counted
from kcompact.dumps.files.containers import CONTAINER_SUFFIXES
from kcompact.dumps.files.file_names import DATA_SUFFIXES, data_suffix, split_suffixes
from kcompact.dumps.files.marks import REPORT, REPORT_FILES, RUN_LETTERS
from kcompact.dumps.output.stored_output import StoredOutput, check_prefixes, letters
from kcompact.dumps.records.layout import DumpFile
from kcompact.dumps.writers.writer import Writer
from kcompact.errors import OutputError
from kcompact.storage.file_systems import parts_of
from kcompact.storage.lookup import is_file, is_folder
from kcompact.storage.object_stores import is_address, refuse_other_address
from kcompact.storage.replacing import check_replaceable

STDIO = "-"


@dataclass(frozen=True)
class Target:
    """One output file and the input files whose survivors it takes, in order.

    ``writer`` is set where survivors are written in another format; else their bytes are copied.
    """

    path: Path
    files: tuple[DumpFile, ...]
    writer: Writer | None = None


@dataclass(frozen=True)
class OutputNames:
    """Where a run writes: a path for each input if they go to a folder, else one for all.

    ``folder`` is set where the outputs are in one folder, published as a whole.
    """

    paths: tuple[Path, ...]
    folder: Path | None = None
    to_stdout: bool = False
    report: Path | None = None
    stored: StoredOutput | None = None

    @property
    def result(self) -> Path | None:
        """The file or folder that will hold the survivors; None for standard output, or on a store."""
        return None if self.to_stdout or self.stored else self.folder or self.paths[0]

    def plan(self, files: tuple[DumpFile, ...], numbers: Sequence[int]) -> "OutputPlan":
        """The plan with the dump's opened files; ``numbers`` as ``Dump`` has them."""
        if self.folder is None:
            targets = [Target(self.paths[0], files)]
        else:
            targets = [Target(self.paths[n], (file,)) for n, file in zip(numbers, files, strict=True)]
        return OutputPlan(**vars(self), targets=tuple(targets))

    def check_replaceable(self, *, overwrite: bool) -> None:
        """Raise OutputError where something is in the way, or would be lost."""
        if self.report is not None and not overwrite:
            prefix = self.stored.prefix if self.stored else None
            _refuse_report_of_another(self.report, self.result, prefix)
        if self.result is not None:
            inside = (str(path.relative_to(self.folder or "")) for path in self.paths)
            names = inside if self.folder else None
            check_replaceable(self.result, overwrite=overwrite, names=names)
        if self.report is not None:
            check_replaceable(self.report, overwrite=overwrite, option="--report", names=REPORT_FILES)


@dataclass(frozen=True)
class OutputPlan(OutputNames):
    """OutputNames with the files whose survivors each output takes."""

    targets: tuple[Target, ...] = ()

    def published(self) -> list[str]:
        """Every path or address that the run publishes."""
        stored = (self.stored.prefix, self.stored.report) if self.stored else ()
        return [str(path) for path in (*stored, self.result, self.report) if path is not None]


@dataclass(frozen=True)
class OutputChoice:
    """The user's options about the output: ``-o``, ``--report``, ``--no-report``, a format of ``--to``."""

    output: str | None = None
    report: str | None = None
    no_report: bool = False
    to: str | None = None


def name_outputs(arguments: list[str], files: list[str], choice: OutputChoice) -> OutputNames:
    """Decide all output paths for dumps named by ``arguments``, found as ``files``. Raises OutputError."""
    for option, path in (("-o", choice.output), ("--report", choice.report)):
        refuse_other_address(option, path or "")
    if choice.report is not None and choice.no_report:
        raise OutputError("--report and --no-report exclude each other", hint="leave one of them out")
    if choice.output is not None and is_address(choice.output):
        return _on_store(arguments, choice.output, choice)
    if choice.report is not None and is_address(choice.report):
        raise OutputError(
            f"--report {choice.report}: a report is written to a store only beside an output there",
            hint="name a folder, or write the output there too, with -o s3://bucket/prefix/",
        )
    names = _without_report(arguments, files, choice)
    return replace(names, report=_report_folder(names, choice))


def _on_store(arguments: list[str], output: str, choice: OutputChoice) -> OutputNames:
    """A prefix of a store; the report beside it, unless it goes to a folder here."""
    report = choice.report if choice.report and is_address(choice.report) else None
    if not (choice.report or choice.no_report):
        if not parts_of(output).key:
            raise OutputError(
                f"{output}: a report lies beside the output, and there is nothing beside a whole bucket",
                hint="write below it, as to s3://bucket/prefix/, or name the report's place with --report",
            )
        report = f"{output.rstrip('/')}{REPORT}/"
    check_prefixes(output, report, arguments)
    stored = StoredOutput(output, report, letters(RUN_LETTERS))
    folder = Path(_whole_name("--report", choice.report)) if choice.report and report is None else None
    return OutputNames((Path(PurePath(output).name),), report=folder, stored=stored)


def _without_report(arguments: list[str], files: list[str], choice: OutputChoice) -> OutputNames:
    output = choice.output
    if output is None and arguments == [STDIO]:
        output = STDIO
    if output == STDIO:
        return OutputNames((Path(STDIO),), to_stdout=True)
    if output is not None:
        return _named(arguments, files, output)
    if len(arguments) == 1 and is_folder(arguments[0]):
        folder = Path(os.path.realpath(arguments[0]))
        return _in_folder(files, folder.with_name(f"{folder.name}.compacted"), _above_all(arguments, files))
    if len(arguments) == 1 and len(files) == 1 and is_file(arguments[0]):
        path = Path(files[0])
        stem, suffixes = split_suffixes(path.name)
        if choice.to is not None and data_suffix(path.name) != f".{choice.to}":
            suffixes = f".{choice.to}"
        return OutputNames((path.with_name(f"{stem}.compacted{suffixes}"),))
    typed = shlex.join(arguments)
    if any(map(is_address, arguments)):
        raise OutputError(
            "no output named, and for dumps on a store there is no default",
            hint=f"kcompact compact {typed} -o {shlex.quote(arguments[0].rstrip('/') + '.compacted/')}",
        )
    raise OutputError(
        f"{counted(len(files), 'input file')} and no output named",
        hint=f"one file each: kcompact compact {typed} -o compacted/  (or -o FILE to join them into one)",
    )


def _named(arguments: list[str], files: list[str], output: str) -> OutputNames:
    path = Path(_whole_name("-o", output))
    above = _above_all(arguments, files)
    if output.endswith("/") or is_folder(path) or (above and not _names_a_file(path, PurePath(above))):
        return _in_folder(files, path, above)
    return OutputNames((path,))


def _above_all(arguments: list[str], files: list[str]) -> str:
    """The folder, or prefix of a store, if it alone was named as the dump, with a slash; else empty."""
    argument, *others = arguments
    if others:
        return ""
    if is_address(argument):
        above = argument.rstrip("/") + "/"
        return above if all(file.startswith(above) for file in files) else ""
    return os.path.join(Path(argument), "") if is_folder(argument) else ""  # noqa: PTH118  ends in a slash


def _names_a_file(output: Path, folder: PurePath) -> bool:
    """Whether an output has a suffix of files that the ``folder`` of the dump does not have itself."""
    suffix = PurePath(split_suffixes(output.name)[1]).suffix or output.suffix
    return suffix.lower() in DATA_SUFFIXES | CONTAINER_SUFFIXES.keys() and suffix != folder.suffix


def _in_folder(files: list[str], folder: Path, above: str) -> OutputNames:
    """One output per input, under the input's name (under its path where one folder is ``above`` all)."""
    if STDIO in files:
        raise OutputError(
            f"standard input has no name for a file in {folder}",
            hint=f"name one: -o {shlex.quote(f'{folder}/orders.jsonl')}",
        )
    targets: dict[str, str] = {}
    for file in files:
        name = file.removeprefix(above or file.rpartition("/")[0])
        name = os.path.normpath(name.lstrip("/"))  # keys of a store may have several slashes in a row
        if name in targets:
            raise OutputError(
                f"two inputs are called {name}: {targets[name]} and {file}",
                hint="join them into one file with -o FILE, or give one folder that holds both, and nothing"
                " else, as the dump: each keeps its path there. Compacted apart, or under another topic's"
                " name, deletes in one would not reach the other, and what was deleted comes back",
            )
        targets[name] = file
    return OutputNames(tuple(folder / name for name in targets), folder=folder)


def _report_folder(names: OutputNames, choice: OutputChoice) -> Path | None:
    if choice.no_report:
        return None
    if choice.report is not None:
        return Path(_whole_name("--report", choice.report))
    if names.result is None:
        return None
    name = names.result.name if names.folder else split_suffixes(names.result.name)[0]
    return names.result.with_name(f"{name}{REPORT}")


def _whole_name(option: str, path: str) -> str:
    """The path, with the name of the folder as its last part in place of ``.`` or ``..``."""
    if Path(path).name not in {"", ".."}:
        return path
    place = os.path.realpath(path)
    if place == "/":
        raise OutputError(f"{option} {path} is the root folder", hint=f"name a new one: {option} compacted/")
    return place


def _refuse_report_of_another(report: Path, result: Path | None, prefix: str | None = None) -> None:
    """Raise OutputError for a report folder on another dump, which still exists.

    ``result`` is the path of this run's dump, ``prefix`` its address on a store.
    """
    owner = _owner_of(report)
    if owner is None or owner == prefix or not _is_another(owner, report, result):
        return
    hint = "choose another place with --report"
    if result is not None and _may_take(own_place := result.with_name(f"{result.name}{REPORT}"), result):
        hint += f" {shlex.quote(str(own_place))}, or another name with -o"
    raise OutputError(f"{report} exists already, and is the report of {owner}", hint=hint)


def _may_take(report: Path, result: Path) -> bool:
    """Whether nothing is at this path, or only a report on this run's dump."""
    owner = _owner_of(report)
    return not os.path.lexists(report) or (owner is not None and not _is_another(owner, report, result))


def _owner_of(report: Path) -> str | None:
    """The dump that a report folder is about, as named by the run that wrote it; None if unknown."""
    path = report / "report.json"
    try:
        owner = json.loads(path.read_bytes())["outputs"][0] if path.is_file() else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return owner if isinstance(owner, str) and Path(owner).name != report.name else None


def _is_another(owner: str, report: Path, result: Path | None) -> bool:
    if is_address(owner):
        return True  # whether it still exists is not checked on a store
    places = {os.path.realpath(place) for place in (owner, report.with_name(Path(owner).name))}
    is_own = result is not None and os.path.realpath(result) in places
    return not is_own and any(map(os.path.exists, places))
