"""A publication on a store that fails: before its manifest nothing has changed, then the new dump stays."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from kcompact.commands.outgoing import stored_publishing
from kcompact.commands.outgoing.stored_publishing import open_stored
from kcompact.dumps.files.marks import REPORT_FILES
from kcompact.dumps.files.stored import forget_listings, stored_files
from kcompact.dumps.output.stored_output import StoredOutput
from kcompact.errors import OutputError
from kcompact.storage.object_stores import delete, write
from s3_server import S3

pytestmark = pytest.mark.slow  # a server, and a second for each thing that is waited for

WHOLE = ["_SUCCESS", "_kcompact.json"]


@pytest.fixture(autouse=True)
def environment(store: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)


def publish(
    prefix: str, run: str, content: bytes, report: str | None = None, report_folder: Path | None = None
) -> None:
    output = StoredOutput(prefix, report, run)
    with open_stored(output, overwrite=True) as publication:
        name = output.part_name("000000", "aaaaaa", ".jsonl")
        write(prefix + name, content)
        publication.publish([name], report_folder)


def dump_in(prefix: str, store: S3) -> bytes:
    """The parts that a reader of ours takes for the dump, one after another."""
    forget_listings()
    objects = store.objects(prefix)
    return b"".join(objects[address.removeprefix(prefix)] for address in stored_files(prefix).files)


def test_a_store_that_fails_once_the_manifest_is_there_keeps_the_new_dump(
    store: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = "s3://bucket/switched/"
    publish(prefix, "aaaaaaaa", b"old\n")

    def refuse(address: str) -> None:
        if "-aaaaaaaa-" in address:
            raise OutputError(f"{address}: the store refuses")
        delete(address)

    with monkeypatch.context() as failing:
        failing.setattr(stored_publishing, "delete", refuse)
        with pytest.raises(OutputError):
            publish(prefix, "bbbbbbbb", b"new\n")

    assert dump_in(prefix, store) == b"new\n"
    assert "_SUCCESS" not in store.objects(prefix)  # whoever heeds it alone would see two runs' parts
    publish(prefix, "cccccccc", b"newest\n")
    assert dump_in(prefix, store) == b"newest\n"
    assert sorted(store.objects(prefix)) == [*WHOLE, "part-000000-cccccccc-aaaaaa.jsonl"]


@pytest.mark.parametrize("damaged", [b"", b"[1]", b'{"run":'])
def test_a_run_that_fails_over_a_damaged_manifest_deletes_what_it_wrote(damaged: bytes, store: S3) -> None:
    prefix = "s3://bucket/damaged/"
    write(prefix + WHOLE[1], damaged)

    with (
        pytest.raises(OutputError, match="a reason"),
        open_stored(StoredOutput(prefix, None, "bbbbbbbb"), overwrite=True),
    ):
        raise OutputError("a reason")

    assert store.objects(prefix) == {WHOLE[1]: damaged}


def test_a_store_that_fails_before_the_manifest_keeps_the_old_dump(
    store: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = "s3://bucket/kept/"
    publish(prefix, "aaaaaaaa", b"old\n")
    before = store.objects(prefix)

    def refuse(address: str, content: bytes) -> None:
        if address.endswith("_kcompact.json"):
            raise OutputError(f"{address}: the store refuses")
        write(address, content)

    with monkeypatch.context() as failing:
        failing.setattr(stored_publishing, "write", refuse)
        with pytest.raises(OutputError):
            publish(prefix, "bbbbbbbb", b"new\n")

    assert dump_in(prefix, store) == b"old\n"
    assert store.objects(prefix) == before


def write_part(output: StoredOutput, content: bytes) -> str:
    name = output.part_name("000000", "aaaaaa", ".jsonl")
    write(output.prefix + name, content)
    return name


@pytest.mark.parametrize("is_first_quicker", [True, False])
def test_of_two_runs_at_once_the_later_one_publishes(store: S3, *, is_first_quicker: bool) -> None:
    prefix = f"s3://bucket/both-{is_first_quicker}/"
    publish(prefix, "aaaaaaaa", b"old\n")
    first, later = (StoredOutput(prefix, None, run) for run in ("bbbbbbbb", "cccccccc"))

    with ExitStack() as runs:
        earlier = runs.enter_context(ExitStack())
        first_run = earlier.enter_context(open_stored(first, overwrite=True))
        names = [write_part(first, b"first\n")]
        later_run = runs.enter_context(open_stored(later, overwrite=True))
        if not is_first_quicker:
            later_run.publish([write_part(later, b"later\n")], None)
        with pytest.raises(OutputError, match="another run has begun to write there") as caught:
            first_run.publish(names, None)
        earlier.__exit__(type(caught.value), caught.value, None)
        if is_first_quicker:
            assert dump_in(prefix, store) == b"old\n"
            later_run.publish([write_part(later, b"later\n")], None)

    assert dump_in(prefix, store) == b"later\n"
    assert sorted(store.objects(prefix)) == [*WHOLE, "part-000000-cccccccc-aaaaaa.jsonl"]


def report_in(folder: Path, text: bytes) -> Path:
    folder.mkdir()
    for name in REPORT_FILES:
        (folder / name).write_bytes(text)
    return folder


@pytest.mark.parametrize("refused", ["_kcompact.json", *REPORT_FILES])
def test_report_and_dump_are_of_one_run_whatever_the_store_refuses(
    refused: str, store: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = f"s3://bucket/reported-{refused}/"
    report = f"s3://bucket/reported-{refused}.report/"
    publish(prefix, "aaaaaaaa", b"old\n", report, report_in(tmp_path / "old", b"old\n"))
    new = report_in(tmp_path / "new", b"new\n")

    def refuse(address: str, content: bytes) -> None:
        if address.endswith(refused):
            raise OutputError(f"{address}: the store refuses")
        write(address, content)

    with monkeypatch.context() as failing:
        failing.setattr(stored_publishing, "write", refuse)
        with pytest.raises(OutputError) as caught:
            publish(prefix, "bbbbbbbb", b"new\n", report, new)

    dump = dump_in(prefix, store)
    told = {name: text for name, text in store.objects(report).items() if name in REPORT_FILES}
    assert told == (dict.fromkeys(REPORT_FILES, b"old\n") if dump == b"old\n" else {})
    assert ("--overwrite" in str(caught.value.hint)) is (dump == b"new\n")
    publish(prefix, "cccccccc", b"new\n", report, new)
    assert store.objects(report) == dict.fromkeys(REPORT_FILES, b"new\n")
    assert sorted(store.objects(prefix)) == [*WHOLE, "part-000000-cccccccc-aaaaaa.jsonl"]


def test_what_cannot_be_deleted_again_is_named(store: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(address: str) -> None:
        raise OutputError(f"{address}: the store refuses")

    prefix = "s3://bucket/left/"
    monkeypatch.setattr(stored_publishing, "delete", refuse)
    with (
        pytest.raises(
            OutputError, match=f"never; what this run wrote is left in {prefix}.*_unfinished-a{{8}}"
        ),
        open_stored(StoredOutput(prefix, None, "aaaaaaaa"), overwrite=False),
    ):
        raise OutputError("never")
    assert list(store.objects(prefix)) == ["_unfinished-aaaaaaaa"]


def test_what_somebody_else_puts_into_the_prefix_meanwhile_stays(
    store: S3, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix = "s3://bucket/shared/"
    publish(prefix, "aaaaaaaa", b"old\n")
    output = StoredOutput(prefix, None, "bbbbbbbb")
    with open_stored(output, overwrite=True) as publication:
        name = output.part_name("000000", "aaaaaa", ".jsonl")
        write(prefix + name, b"new\n")
        store.put(f"{prefix}precious.jsonl", b"theirs")
        publication.publish([name], None)
    assert sorted(store.objects(prefix)) == ["_SUCCESS", "_kcompact.json", name, "precious.jsonl"]
    assert "precious.jsonl: put there by somebody else while this ran" in capsys.readouterr().err
