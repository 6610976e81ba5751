import errno
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kcompact.broker.aborted import AbortedRange
from kcompact.broker.checkpoint import read_checkpoint
from kcompact.broker.delete_horizons import DeleteHorizon
from kcompact.broker.log_names import LogName
from kcompact.broker.state import state_places
from kcompact.broker.state.cleaner_state import CleanerState
from kcompact.broker.state.state_of_dump import StateOfDump, state_beside, state_that_counts
from kcompact.broker.state.state_output import output_file
from kcompact.broker.state.state_places import open_state, open_state_folder, read_states
from kcompact.errors import InputError, OutputError
from kcompact.storage.publication import open_publication
from other_user import folder_for_all, other_user

ORDERS, USERS = LogName("orders", 0), LogName("users", 3)


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "orders.compacted.jsonl"
    path.write_text("the survivors\n")
    return path


def save(folder: Path, dump: Path, log: LogName = ORDERS, end_offset: int = 303) -> None:
    state = CleanerState(
        {log: end_offset},
        {log: (DeleteHorizon(end_offset, 1700000000000),)},
        {log: end_offset - 1},
        (output_file(dump),),
        key_options="--canonical-keys",
        aborted={log: (AbortedRange(303, 304), AbortedRange(400, 400))},
        removed_aborts_end_offsets={log: 290},
    )
    with open_state_folder(folder) as opened, open_publication(opened.files) as publication:
        opened.prepare(opened.states[0], opened.states[0].followed_by(state), publication)
        publication.commit()


def check(folder: Path, inputs: list[Path], last_offsets: Mapping[LogName, int]) -> list[str]:
    with open_state_folder(folder) as opened:
        paths = [str(path) for path in inputs]
        outputs = {path: output_file(Path(path)) for path in paths}
        beside = state_beside(opened.place, opened.states, paths, outputs)
    beside.check_logs(last_offsets)
    if beside.missing is not None:
        raise beside.lacks(beside.missing)
    return beside.notes


def test_a_state_comes_back_as_it_was_published(tmp_path: Path, dump: Path) -> None:
    save(tmp_path / "state", dump)
    with open_state_folder(tmp_path / "state") as opened:
        (state,) = opened.states
    assert state.checkpoint == {ORDERS: 303}
    assert state.horizons == {ORDERS: (DeleteHorizon(303, 1700000000000),)}
    assert state.last_offsets == {ORDERS: 302}
    assert state.files == (output_file(dump),)
    assert state.key_options == "--canonical-keys"
    assert state.aborted == {ORDERS: (AbortedRange(303, 304), AbortedRange(400, 400))}
    assert state.removed_aborts_end_offsets == {ORDERS: 290}


def test_it_fits_a_dump_that_holds_the_output_under_any_name_and_goes_on(tmp_path: Path, dump: Path) -> None:
    save(tmp_path / "state", dump)
    moved = dump.rename(tmp_path / "last-week.jsonl")
    (tmp_path / "new.jsonl").write_text("more\n")
    assert check(tmp_path / "state", [tmp_path / "new.jsonl", moved], {ORDERS: 400, USERS: 5}) == []


def test_the_logs_that_are_given_anew_are_gathered_once_for_all_logs(tmp_path: Path, dump: Path) -> None:
    save(tmp_path / "state", dump)
    with open_state_folder(tmp_path / "state") as opened:
        beside = state_beside(opened.place, opened.states, [], {})
    assert beside.logs_given_anew == {ORDERS}
    assert beside.logs_given_anew is beside.logs_given_anew


def test_entries_of_other_logs_are_kept(tmp_path: Path, dump: Path) -> None:
    save(tmp_path / "state", dump, ORDERS, 303)
    save(tmp_path / "state", dump, USERS, 7)
    assert read_checkpoint(str(tmp_path / "state/cleaner-offset-checkpoint")) == {ORDERS: 303, USERS: 7}
    with open_state_folder(tmp_path / "state") as opened:
        assert opened.states[0].horizons.keys() == {ORDERS, USERS}
        assert opened.states[0].last_offsets.keys() == {USERS}, "the output holds no other log"


def test_a_log_of_which_nothing_is_clean_any_more_has_no_checkpoint(tmp_path: Path, dump: Path) -> None:
    """Delete horizons stay, and the logs are known without a checkpoint."""
    save(tmp_path / "state", dump)
    (before,) = read_states(str(tmp_path / "state"))
    later = before.followed_by(replace(before, checkpoint={}))
    assert (later.checkpoint, later.horizons, later.logs) == ({}, before.horizons, {ORDERS})
    with pytest.raises(InputError, match="this state is about orders-0, the dump about users-3"):
        StateOfDump("st", later, frozenset(), None, None).check_logs({USERS: 5})


@pytest.mark.parametrize(
    ("last_offsets", "message"),
    [
        ({USERS: 500}, "this state is about orders-0, the dump about users-3"),
        ({ORDERS: 301}, "up to offset 302, the dump ends at 301"),
    ],
)
def test_another_topic_and_an_older_dump_are_explained(
    tmp_path: Path, dump: Path, last_offsets: Mapping[LogName, int], message: str
) -> None:
    save(tmp_path / "state", dump)
    with pytest.raises(InputError, match=message):
        check(tmp_path / "state", [dump], last_offsets)


def test_a_dump_without_the_state_s_output_is_explained(tmp_path: Path, dump: Path) -> None:
    save(tmp_path / "state", dump)
    (tmp_path / "all.jsonl").write_text("the dump before\n")
    with pytest.raises(InputError, match="it is not among the inputs"):
        check(tmp_path / "state", [tmp_path / "all.jsonl"], {ORDERS: 400})


def test_a_run_that_died_between_dump_and_state_is_noticed(tmp_path: Path, dump: Path) -> None:
    save(tmp_path / "state", dump)
    dump.write_text("what the next run wrote\n")
    with pytest.raises(InputError, match="perhaps a run died between writing the dump and the state"):
        check(tmp_path / "state", [dump], {ORDERS: 400})


@pytest.mark.parametrize("name", ["cleaner-offset-checkpoint", "delete-horizons"])
@pytest.mark.parametrize("text", ["0\n1\norders 0 400\n", "", "orders 0"])
def test_a_run_that_died_while_it_wrote_the_state_is_noticed(
    name: str, text: str, tmp_path: Path, dump: Path
) -> None:
    """Or that somebody damaged it: whatever is there then, the remedy is that of a state of no use."""
    save(tmp_path / "state", dump)
    (tmp_path / "state" / name).write_text(text)
    with pytest.raises(InputError, match="perhaps a run died while it wrote the state") as caught:
        check(tmp_path / "state", [dump], {ORDERS: 400})
    assert "start a new --state folder" in (caught.value.hint or "")


def test_a_checkpoint_copied_from_a_broker_is_taken_with_a_note(tmp_path: Path, dump: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state/cleaner-offset-checkpoint").write_text("0\n1\norders 0 60\n")
    [note] = check(tmp_path / "state", [dump], {ORDERS: 10})
    assert "without output.json" in note


def test_horizons_of_no_known_dump_are_refused(tmp_path: Path, dump: Path) -> None:
    """By them a tombstone would go, and the value that it deletes, which is clean by the checkpoint, stay."""
    save(tmp_path / "state", dump)
    (tmp_path / "state/output.json").unlink()
    with pytest.raises(InputError, match=r"delete-horizons: horizons without output\.json"):
        check(tmp_path / "state", [dump], {ORDERS: 400})


def test_what_is_prepared_and_not_published_changes_nothing(tmp_path: Path, dump: Path) -> None:
    save(tmp_path / "state", dump)
    before = {path.name: path.read_bytes() for path in (tmp_path / "state").iterdir()}
    with open_state_folder(tmp_path / "state") as opened, open_publication(opened.files) as publication:
        opened.prepare(opened.states[0], CleanerState({ORDERS: 999}, files=()), publication)
    after = {path.name: path.read_bytes() for path in (tmp_path / "state").iterdir()}
    assert after == before


def test_a_run_that_publishes_nothing_leaves_no_new_folder(tmp_path: Path) -> None:
    with open_state_folder(tmp_path / "new") as opened, open_publication(opened.files) as publication:
        opened.prepare(opened.states[0], CleanerState({ORDERS: 1}, files=()), publication)
    assert not (tmp_path / "new").exists()


def test_a_full_disk_is_named_and_no_new_folder_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.pwrite", fail)
    (tmp_path / "old").mkdir()
    for name in ("old", "new"):
        with (
            pytest.raises(OutputError, match=f"{name}: .* No space left on device") as caught,
            open_state_folder(tmp_path / name),
        ):
            pass
        assert "--state" in str(caught.value.hint)
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["old"]


def test_the_folder_is_locked_while_in_use(tmp_path: Path, dump: Path) -> None:
    save(tmp_path / "state", dump)
    program = (
        "import sys, pathlib\nfrom kcompact.broker.state.state_places import open_state_folder\n"
        "with open_state_folder(pathlib.Path(sys.argv[1])): print('locked', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "state")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "locked\n"
    with (
        pytest.raises(InputError, match=rf"in use by another run \(process {other.pid}\)"),
        open_state_folder(tmp_path / "state"),
    ):
        pass
    other.kill()  # a run that dies gives the lock back
    other.communicate()
    with open_state_folder(tmp_path / "state") as opened:
        assert opened.states[0].checkpoint == {ORDERS: 303}


def test_the_lock_goes_with_its_run(tmp_path: Path, dump: Path) -> None:
    save(tmp_path / "state", dump)
    assert check(tmp_path / "state", [dump], {ORDERS: 400}) == []
    left = {path.name for path in (tmp_path / "state").iterdir()}
    assert left == {"cleaner-offset-checkpoint", "delete-horizons", "output.json"}


def test_a_lock_that_its_run_has_just_removed_does_not_count(
    tmp_path: Path, dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs that wait for one to end must not both have the folder."""
    save(tmp_path / "state", dump)
    lock = tmp_path / "state" / "lock"
    flock, taken = state_places.fcntl.flock, []

    def late(descriptor: int, how: int) -> None:
        flock(descriptor, how)
        if not taken:
            lock.unlink()  # the other run ended between our open() and our flock()
        taken.append(descriptor)

    monkeypatch.setattr(state_places.fcntl, "flock", late)
    with open_state_folder(tmp_path / "state"):
        assert lock.exists()
        with pytest.raises(InputError, match="in use by another run"), open_state_folder(tmp_path / "state"):
            pass


@pytest.mark.parametrize(
    ("mode", "message"), [(0o000, "st: cannot be used"), (0o444, "delete-horizons: cannot be read")]
)
def test_a_state_that_may_not_be_read_is_refused(dump: Path, mode: int, message: str) -> None:
    with folder_for_all() as folder:
        save(folder / "st", dump)
        (folder / "st").chmod(mode)
        with other_user():
            with pytest.raises(InputError, match=message):
                read_states(str(folder / "st"))
            with pytest.raises(InputError, match=message), open_state(str(folder / "st"), writes=False):
                pass
            with pytest.raises(OutputError, match="st: cannot be used"), open_state_folder(folder / "st"):
                pass


def test_a_state_that_may_not_be_written_is_read(dump: Path) -> None:
    with folder_for_all() as folder:
        save(folder / "st", dump)
        (folder / "st").chmod(0o555)
        with other_user(), open_state(str(folder / "st"), writes=False) as state:
            assert state.states[0].checkpoint == {ORDERS: 303}


def test_a_file_is_no_state_folder(dump: Path) -> None:
    with pytest.raises(OutputError, match="cannot be used as a state folder"), open_state_folder(dump):
        pass


def test_a_pipe_among_a_state_s_files_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "output.json")
    with pytest.raises(InputError, match=r"output\.json: not a file"), open_state(str(tmp_path), writes=True):
        raise AssertionError


def test_of_two_states_that_counts_whose_output_is_there(tmp_path: Path, dump: Path) -> None:
    """As a run that died while it published leaves them on a store."""
    other = tmp_path / "other"
    other.write_text("what the run that died would have published\n")
    first, later = (
        CleanerState({ORDERS: n}, files=(output_file(path),)) for n, path in enumerate([dump, other])
    )
    both = CleanerState({ORDERS: 2}, files=(output_file(dump), output_file(other)))
    outputs = {path.name: output_file(path) for path in (dump, other)}
    assert state_that_counts([first, later], {"a": outputs[dump.name]}) == first
    assert state_that_counts([first, later], {"b": outputs[other.name]}) == later
    assert state_that_counts([first, later], {}) == first
    assert state_that_counts([both, later], outputs) == both
    assert state_that_counts([first, replace(first, checkpoint={})], outputs) == replace(first, checkpoint={})
    assert state_that_counts([], outputs) == CleanerState()


def test_a_foreign_output_json_is_refused(tmp_path: Path, dump: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state/output.json").write_text('{"schema_version": 2}')
    with pytest.raises(InputError, match="not written by kcompact"):
        check(tmp_path / "state", [dump], {ORDERS: 1})
