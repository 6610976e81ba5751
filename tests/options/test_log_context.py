import bz2
import gzip
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kcompact.broker.aborted import AbortedRange
from kcompact.broker.delete_horizons import DeleteHorizon
from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.broker.segment_lists import Segment
from kcompact.broker.state.state_places import CleanerState
from kcompact.errors import InputError, PolicyError
from kcompact.options.log_options import LogOptions

ORDERS, USERS = LogName("orders", 0), LogName("users", 0)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_packed_lists_are_unpacked(folder: Path, pack: Callable[[bytes], bytes]) -> None:
    for name in ("segments", "aborted"):
        (folder / name).write_bytes(pack((folder / name).read_bytes()))
    context = LogOptions(segments=str(folder / "segments"), aborted=str(folder / "aborted")).context()
    assert context.for_logs([ORDERS]) == {
        ORDERS: LogContext(segments=(Segment(0, 500), Segment(60, 81)), aborted=(AbortedRange(3, 5),))
    }


def test_a_table_of_segments_may_come_from_a_pipe(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[(folder / "segments").read_bytes()], daemon=True)
    writer.start()
    context = LogOptions(segments=str(pipe)).context()
    writer.join()
    assert context.for_logs([ORDERS]) == {ORDERS: LogContext(segments=(Segment(0, 500), Segment(60, 81)))}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "segments").write_text("orders 0 0 500\norders 0 60 81\n")
    (tmp_path / "aborted").write_text("orders 0 3 5\n")
    (tmp_path / "checkpoint").write_text("0\n1\norders 0 60\n")
    return tmp_path


def test_everything_given_arrives_at_its_log(folder: Path) -> None:
    options = LogOptions(
        segments=str(folder / "segments"),
        aborted=str(folder / "aborted"),
        checkpoint=str(folder / "checkpoint"),
        log_start_offset=["orders-0=2"],
        log_end_offset=["orders-0=61", "users-0=7"],
        last_stable_offset=["users-0=5"],
    )
    assert options.context().for_logs([ORDERS, USERS]) == {
        ORDERS: LogContext(
            segments=(Segment(0, 500), Segment(60, 81)),
            aborted=(AbortedRange(3, 5),),
            log_start_offset=2,
            log_end_offset=61,
            checkpoint_offset=60,
        ),
        USERS: LogContext(log_end_offset=7, last_stable_offset=5),
    }


def test_nothing_given_tells_nothing() -> None:
    assert LogOptions().context().for_logs([ORDERS]) == {ORDERS: LogContext()}


def test_a_state_gives_checkpoint_and_horizons() -> None:
    state = CleanerState({ORDERS: 9}, {ORDERS: (DeleteHorizon(9, 5),)})
    context = LogOptions(state="dir").context().with_state(state).for_logs([ORDERS])
    assert context == {ORDERS: LogContext(checkpoint_offset=9, horizons=(DeleteHorizon(9, 5),))}


@pytest.mark.parametrize("option", ["segments", "aborted", "checkpoint"])
def test_a_file_about_other_logs_only_is_refused(folder: Path, option: str) -> None:
    context = replace(LogOptions(), **{option: str(folder / option)}).context()
    with pytest.raises(InputError, match=rf"--{option} .* is about orders-0; the dump holds users-0"):
        context.for_logs([USERS])


def test_checkpoint_and_state_exclude_each_other(folder: Path) -> None:
    with pytest.raises(PolicyError, match="exclude each other"):
        LogOptions(checkpoint=str(folder / "checkpoint"), state="dir").context()


def test_the_clock_is_given_or_this_machine_s() -> None:
    assert LogOptions(now="2023-11-14T22:13:20Z").now_ms() == 1700000000000
    assert LogOptions().now_ms() > 1700000000000
    with pytest.raises(PolicyError, match="--now: 'soon' is not a moment"):
        LogOptions(now="soon").now_ms()


def test_logs_that_a_file_does_not_mention_are_named(folder: Path) -> None:
    context = LogOptions(segments=str(folder / "segments"), checkpoint=str(folder / "checkpoint")).context()
    assert context.silences([ORDERS]) == []
    assert context.silences([ORDERS, USERS]) == [
        f"--segments {folder / 'segments'} says nothing about users-0: no segments are known",
        f"--checkpoint {folder / 'checkpoint'} says nothing about users-0: never cleaned so far",
    ]


def test_an_empty_checkpoint_says_that_nothing_was_cleaned(folder: Path) -> None:
    (folder / "empty").write_text("0\n0\n")
    context = LogOptions(checkpoint=str(folder / "empty")).context()
    assert context.for_logs([ORDERS]) == {ORDERS: LogContext()}
    assert len(context.silences([ORDERS])) == 1
