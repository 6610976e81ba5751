"""Writing what ``compact`` leaves: report, dump, state, in this order, all or nothing."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from kcompact.broker.log_names import LogName
from kcompact.broker.state.cleaner_state import CleanerState
from kcompact.broker.state.state_output import OutputFile, output_file
from kcompact.commands.incoming.state_files import StateInUse
from kcompact.commands.outgoing.stored_publishing import StoredPublication
from kcompact.compact.output.csv_parts import GAPS_HEADER, REMOVED_KEYS_HEADER
from kcompact.compact.request import Compacted
from kcompact.compact.totals import Piece, piece_bytes
from kcompact.dumps.output.assemble import Fragment, assemble, write_joined
from kcompact.dumps.output.outputs import OutputPlan
from kcompact.report.compact.compaction_html import render_html
from kcompact.report.compact.compaction_report import CompactionReport, render_json, render_markdown
from kcompact.storage import disk
from kcompact.storage.publication import Publication


def publish(
    outputs: OutputPlan,
    report: CompactionReport,
    compaction: Compacted,
    *,
    publication: Publication,
    stored: StoredPublication | None,
    state: StateInUse | None,
) -> None:
    """Publish report, dump and state; the parts are in the work folder, or on a store. Raises OutputError.

    ``publication`` is for disks of this machine, ``stored`` for a store.
    """
    folder = publication.work_folder
    stored_report = folder / "report" if outputs.stored and outputs.stored.report else None
    if stored is not None and (stored_report or outputs.report):
        stored.bring_pieces(compaction.outcome, folder)
    if stored_report is not None:
        _write_report(stored_report, report, compaction, folder)
    if outputs.report is not None:
        with disk.explained(outputs.report):
            _write_report(publication.prepare(outputs.report), report, compaction, folder)
    prepared_paths: Mapping[Path, Path] = {}
    if outputs.result is not None:
        with disk.explained(outputs.result):
            prepared_paths = _write_outputs(publication, outputs, compaction, folder)
    if outputs.to_stdout:
        write_joined(sys.stdout.buffer, outputs.targets[0], compaction.outcome.fragments, folder)
        sys.stdout.buffer.flush()
    parts = _stored_parts(outputs, compaction)
    if state is not None:
        state.prepare(_next_state(compaction, tuple(_output_files(prepared_paths))), list(parts), publication)
    if stored is not None:
        stored.publish(parts.values(), stored_report)
    publication.commit()
    if state is not None:
        state.opened.finish()


def _stored_parts(outputs: OutputPlan, compaction: Compacted) -> dict[str, str]:
    """The names of the part files that tasks wrote to a store, by address, in order."""
    if outputs.stored is None:
        return {}
    parts = [fragment.part for fragment in compaction.outcome.fragments if fragment.end > fragment.start]
    return {outputs.stored.prefix + part: part for part in parts}


def _output_files(prepared_paths: Mapping[Path, Path]) -> Iterator[OutputFile]:
    """The output files with their final names, and with size and digest as prepared."""
    for target, prepared in prepared_paths.items():
        with disk.explained(target):
            yield replace(output_file(prepared), name=target.name)


def _next_state(compaction: Compacted, files: tuple[OutputFile, ...]) -> CleanerState:
    """The state for the next run."""
    checkpoint, horizons, last_offsets, records, undecided_from = {}, {}, {}, {}, {}
    aborted, removed_aborts_end_offsets = {}, {}
    for log in compaction.outcome.logs:
        name, cleaning = LogName(log.topic, log.partition), compaction.cleanings[log.log_id]
        horizons[name] = cleaning.horizons
        aborted[name] = cleaning.aborted
        removed_aborts_end_offsets[name] = cleaning.removed_aborts_end_offset
        last_offsets[name] = log.last_kept_offset
        records[name] = compaction.known.get(log.log_id, ())
        if cleaning.checkpoint_offset is not None:
            checkpoint[name] = cleaning.checkpoint_offset
        if cleaning.bounds.last_stable_offset < cleaning.bounds.log_end_offset:
            undecided_from[name] = cleaning.bounds.last_stable_offset
    return CleanerState(
        checkpoint,
        horizons,
        last_offsets,
        files,
        records,
        undecided_from=undecided_from,
        aborted=aborted,
        removed_aborts_end_offsets=removed_aborts_end_offsets,
    )


def _write_report(target: Path, report: CompactionReport, compaction: Compacted, folder: Path) -> None:
    disk.make_folder(target)
    disk.write(target / "report.json", render_json(report).encode())
    disk.write(target / "report.md", render_markdown(report).encode())
    _write_pieces(target / "removed-keys.csv", REMOVED_KEYS_HEADER, compaction.outcome.removed_keys, folder)
    _write_pieces(target / "gaps.csv", GAPS_HEADER, compaction.outcome.gaps, folder)
    disk.write(target / "report.html", render_html(report, target).encode())


def _write_pieces(path: Path, header: bytes, pieces: list[Piece], folder: Path) -> None:
    with disk.create(path) as out:
        out.write(header)
        for text in piece_bytes(folder, pieces):
            out.write(text)


def _write_outputs(
    publication: Publication, outputs: OutputPlan, compaction: Compacted, folder: Path
) -> dict[Path, Path]:
    """Write all output files, to be published later. Returns the prepared path of each that holds records.

    A file that holds none need not be among the next run's inputs. In an output folder, an input that
    ``--keep-going`` leaves out as a whole gets no file: an empty one would mean that nothing is left of its
    logs.
    """
    prepared_paths: dict[Path, Path] = {}
    base = publication.prepare(outputs.folder) if outputs.folder is not None else None
    if base is not None:
        disk.make_folder(base)
    folders = {base}
    fragments = _fragments_of(outputs, compaction)
    for target, target_fragments in zip(outputs.targets, fragments, strict=True):
        if base is not None and target.files[0].file_id in compaction.left_out:
            continue
        if base is None or outputs.folder is None:
            path = publication.prepare(target.path)
        else:
            path = base / target.path.relative_to(outputs.folder)
            if path.parent not in folders:
                disk.make_folders(path.parent)
                folders.add(path.parent)
        assemble(path, target, target_fragments, folder)
        if any(fragment.end > fragment.start for fragment in target_fragments):
            prepared_paths[target.path] = path
    return prepared_paths


def _fragments_of(outputs: OutputPlan, compaction: Compacted) -> list[list[Fragment]]:
    """The fragments of each target, in their order; there may be thousands of targets."""
    target_of = {file.file_id: n for n, target in enumerate(outputs.targets) for file in target.files}
    file_of = {split.split_id: split.file_id for split in compaction.plan.splits.values()}
    fragments: list[list[Fragment]] = [[] for _ in outputs.targets]
    for fragment in compaction.outcome.fragments:
        fragments[target_of[file_of[fragment.split_id]]].append(fragment)
    return fragments
