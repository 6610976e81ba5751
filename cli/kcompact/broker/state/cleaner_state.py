"""The memory of a broker's disk between two rounds, which no dump holds, as three small texts.

They are ``cleaner-offset-checkpoint``, ``delete-horizons``, and ``output.json``, which names the compacted
dump that both belong to: files of a folder, or one object on a store (``state_places.py``).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from kcompact.broker.checkpoint import CHECKPOINT_NAME, format_checkpoint, parse_checkpoint
from kcompact.broker.delete_horizons import (
    HORIZONS_NAME,
    DeleteHorizon,
    format_delete_horizons,
    parse_delete_horizons,
)
from kcompact.broker.log_names import LogName
from kcompact.broker.state.known_records import KnownRecord
from kcompact.broker.state.state_output import (
    OUTPUT_NAME,
    START_ANEW,
    OutputFile,
    StateOutput,
    digest_of,
    format_output,
    parse_output,
)
from kcompact.errors import InputError

STATE_NAMES = (HORIZONS_NAME, CHECKPOINT_NAME, OUTPUT_NAME)
"""``output.json`` comes last and vouches for the others."""


@dataclass(frozen=True)
class CleanerState:
    """All that a state says. ``files`` None: a checkpoint alone, such as one copied from a broker.

    ``last_offsets`` are of the logs that the output holds; one that its run left out has none.
    ``key_options`` are those by which the keys of its records were read; None: they are not known.
    ``undecided_from`` is where transactions were undecided, of logs in which any were.
    """

    checkpoint: Mapping[LogName, int] = field(default_factory=dict)
    horizons: Mapping[LogName, tuple[DeleteHorizon, ...]] = field(default_factory=dict)
    last_offsets: Mapping[LogName, int] = field(default_factory=dict)
    files: tuple[OutputFile, ...] | None = None
    records: Mapping[LogName, tuple[KnownRecord, ...]] = field(default_factory=dict)
    key_options: str | None = None
    undecided_from: Mapping[LogName, int] = field(default_factory=dict)

    @property
    def logs(self) -> frozenset[LogName]:
        """The logs that it knows: not every one has a checkpoint."""
        return frozenset({**self.checkpoint, **self.last_offsets, **self.records})

    def followed_by(self, later: "CleanerState") -> "CleanerState":
        """The later state; entries of logs that it does not know are kept.

        A log that was given in full once more, and of which nothing could be cleaned, has no checkpoint then.
        """
        left_out = self.logs - later.logs
        return replace(
            later,
            checkpoint={**_of(left_out, self.checkpoint), **later.checkpoint},
            undecided_from={**_of(left_out, self.undecided_from), **later.undecided_from},
            horizons={**self.horizons, **later.horizons},
            records={**self.records, **later.records},
        )


def texts_of(state: CleanerState) -> dict[str, str]:
    """The texts of a state by name, in the order of STATE_NAMES."""
    texts = {
        HORIZONS_NAME: format_delete_horizons(state.horizons),
        CHECKPOINT_NAME: format_checkpoint(state.checkpoint),
    }
    if state.files is not None:
        vouched = {name: digest_of(text) for name, text in texts.items()}
        output = StateOutput(
            state.files, state.last_offsets, state.records, vouched, state.key_options, state.undecided_from
        )
        texts[OUTPUT_NAME] = format_output(output)
    return texts


def state_of(texts: Mapping[str, str], place: str) -> CleanerState:
    """The state of these texts; each may be missing. Raises InputError, naming them as files in ``place``."""

    def named(name: str) -> str:
        return f"{place.rstrip('/')}/{name}"

    checkpoint = parse_checkpoint(texts.get(CHECKPOINT_NAME, ""), named(CHECKPOINT_NAME))
    horizons = parse_delete_horizons(texts.get(HORIZONS_NAME, ""), named(HORIZONS_NAME))
    if OUTPUT_NAME not in texts:
        if horizons:  # which no broker writes
            raise InputError(
                f"{named(HORIZONS_NAME)}: horizons without {OUTPUT_NAME}, which says of which dump they are",
                hint=START_ANEW,
            )
        return CleanerState(checkpoint, horizons)
    output = parse_output(texts[OUTPUT_NAME], named(OUTPUT_NAME))
    for name, digest in output.vouched.items():
        if name not in texts or digest_of(texts[name]) != digest:
            raise InputError(
                f"{named(name)}: not the one that {OUTPUT_NAME} belongs to; a run that died while it wrote"
                " the state, or a change by hand, would explain it",
                hint=START_ANEW,
            )
    return CleanerState(
        checkpoint,
        horizons,
        output.last_offsets,
        output.files,
        output.records,
        output.key_options,
        output.undecided_from,
    )


def _of(logs: Collection[LogName], offsets: Mapping[LogName, int]) -> dict[LogName, int]:
    return {log: offset for log, offset in offsets.items() if log in logs}
