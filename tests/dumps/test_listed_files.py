"""Folders whose writer lists the files that count, as Spark's streaming sink and Delta do."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Run
from kcompact.dumps.files import sources, stored
from kcompact.dumps.files.marks import REPORT_FILES
from kcompact.dumps.files.sources import find_files, listings_kept, notes_on_files
from kcompact.errors import InputError
from kcompact.storage.object_stores import StoredObject

COPY_AGAIN = "copy the folder again"
WRITTEN_AT = "file:///written/elsewhere/out"
ALONE = [
    ("_spark_metadata/0", "part-a"),
    ("_delta_log/00000000000000000000.json", "part-a"),
    ("_kcompact.json", "part-a"),
]


def write(folder: Path, **contents: str) -> None:
    for name, text in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def batch(*names: str, action: str = "add", version: str = "v1") -> str:
    """A file of ``_spark_metadata``."""
    entries = [{"path": f"{WRITTEN_AT}/{name}", "size": 1, "action": action} for name in names]
    return "\n".join([version, *map(json.dumps, entries)])


def commit(*actions: tuple[str, str], **more: Any) -> str:
    """A file of ``_delta_log``."""
    return "".join(json.dumps({action: {"path": path} | more}) + "\n" for action, path in actions)


def manifest(*names: str) -> str:
    """The list of a dump that kcompact wrote to a store."""
    return json.dumps({"parts": [{"name": name, "bytes": 1} for name in names]})


def listed_in(place: str, *names: str) -> str:
    """A list of any of ALONE."""
    writers = {"_spark_metadata": batch, "_kcompact.json": manifest}
    write = writers.get(place.partition("/")[0], lambda *names: commit(*(("add", name) for name in names)))
    return write(*names)


def version(number: int) -> str:
    return f"_delta_log/{number:020}.json"


def below(folder: Path, argument: str = "") -> list[str]:
    return [path.removeprefix(f"{folder}/") for path in find_files([f"{folder}/{argument}".rstrip("/")])]


def refusal(folder: Path, argument: str = "") -> InputError:
    with pytest.raises(InputError) as caught:
        below(folder, argument)
    return caught.value


def test_of_a_stream_s_folder_committed_files_are_read_and_the_others_noted(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    names = [f"part-{number}" for number in range(6)]
    write(folder, **dict.fromkeys(names, "x"), **{"_spark_metadata/0": batch("part-2"), "_SUCCESS": "x"})
    write(folder, **{"_spark_metadata/1": batch("part-4"), "_spark_metadata/.1.crc": "x"})

    assert below(folder) == ["part-2", "part-4"]
    shown = ", ".join(f"{folder}/part-{number}" for number in (0, 1, 3))
    where = f"{folder}/_spark_metadata"
    (note,) = notes_on_files([str(folder)])
    assert note == f"{shown} and 1 more: 4 files left out, as {where} does not list them"


def test_a_list_in_a_folder_below_and_files_in_folders_of_partitions(tmp_path: Path) -> None:
    committed = "topic=a b/partition=0/part-a"
    stale = ["topic=a b/partition=0/part-b", "topic=a b/partition=1/part-a", "part-a"]
    listed = batch("topic=a%20b/partition=0/part-a", "empty")
    write(tmp_path / "in/out", **dict.fromkeys([committed, *stale], "x"), empty="")
    write(tmp_path / "in/out", **{"_spark_metadata/0": listed})
    write(tmp_path / "in", other="x")

    assert below(tmp_path / "in") == ["other", f"out/{committed}"]
    (note,) = notes_on_files([str(tmp_path / "in")])
    assert ": 3 files left out" in note
    assert below(tmp_path / "in", "out/topic=a b/partition=0") == [f"out/{committed}"]
    assert "lists none of the files" in str(refusal(tmp_path / "in", "out/topic=a b/partition=1"))


def test_the_folder_of_a_partition_from_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, **{"partition=0/part-a": "x", "partition=0/part-b": "x"})
    write(tmp_path, **{"_spark_metadata/0": batch("partition=0/part-a", "partition=1/part-c")})
    monkeypatch.chdir(tmp_path / "partition=0")

    assert find_files(["."]) == ["part-a"]
    (tmp_path / "partition=0/part-a").unlink()
    assert "part-a" in str(refusal(tmp_path, "partition=0"))


@pytest.mark.parametrize(
    ("place", "argument"), [("topic=t", "p=0"), ("topic=t/p=0", ".."), ("", "topic=t/p=0")]
)
def test_a_list_is_looked_for_above_the_working_folder_too(
    place: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, **{"topic=t/p=0/part-a": "x", "topic=t/p=0/part-b": "x"})
    write(tmp_path, **{"_spark_metadata/0": batch("topic=t/p=0/part-a")})
    monkeypatch.chdir(tmp_path / place)

    assert [Path(path).name for path in find_files([argument])] == ["part-a"]
    assert [Path(path).name for path in find_files([f"{argument}/**"])] == ["part-a"]


def test_batches_count_from_the_last_compact_one_on(tmp_path: Path) -> None:
    write(tmp_path, a="x", b="x", c="x", d="x")
    write(tmp_path, **{"_spark_metadata/1": batch("d"), "_spark_metadata/2.compact": batch("a", "b")})
    write(tmp_path, **{"_spark_metadata/2": batch("d"), "_spark_metadata/3": batch("c")})
    assert below(tmp_path) == ["a", "b", "c"]

    write(tmp_path, **{"_spark_metadata/4": batch("a", action="delete")})
    assert below(tmp_path) == ["b", "c"]


@pytest.mark.parametrize(
    ("batches", "sentence", "hint"),
    [
        ({}, "lists no batch that was committed", "run the stream"),
        ({"1": batch("a")}, "lacks batch 0", COPY_AGAIN),
        ({"0": batch("a"), "2": batch("a")}, "lacks batch 1", COPY_AGAIN),
        ({"0": batch("a", version="v2")}, "/0: a list of version 2", "spark.read.json("),
        ({"0": ""}, "/0:1: not a line of a list", COPY_AGAIN),
        (
            {"0": 'v1\n{"path":"a","action":"add"}\n{"path":'},
            "/0:3: not a line of a list",
            COPY_AGAIN,
        ),
        ({"0": 'v1\n{"path":1,"action":"add"}'}, "/0:2: not a line", COPY_AGAIN),
        ({"0": 'v1\n{"path":"a","action":"move"}'}, "/0:2: not a line", COPY_AGAIN),
        ({"0": 'v1\n{"path":"a","action":[]}'}, "/0:2: not a line", COPY_AGAIN),
        ({"0": "v1\n[]"}, "/0:2: not a line", COPY_AGAIN),
    ],
)
def test_a_list_that_cannot_be_followed_is_refused(
    batches: dict[str, str], sentence: str, hint: str, tmp_path: Path
) -> None:
    write(tmp_path, a="x")
    (tmp_path / "_spark_metadata").mkdir()
    write(tmp_path / "_spark_metadata", **batches)
    refused = refusal(tmp_path)
    assert f"{tmp_path}/_spark_metadata" in refused.message
    assert sentence in refused.message
    assert hint in str(refused.hint)


@pytest.mark.parametrize("listed", ["part-b", "deep/part-a", "../secret", "../../../../etc/passwd"])
def test_a_file_that_is_listed_and_missing_is_named(listed: str, tmp_path: Path) -> None:
    """Wherever its path leads: it is compared with names, and nothing outside of the folder is opened."""
    name_outside = "secret"
    for name, content in (("_spark_metadata/0", batch(listed)), (version(0), commit(("add", listed)))):
        folder = tmp_path / name[:6]
        write(tmp_path, **{name_outside: "x"})
        write(folder, **{"part-x": "x", name: content})
        refused = refusal(folder)
        assert "lists a file that is not there: " in refused.message
        assert listed.rpartition("/")[2] in refused.message


def test_a_listed_path_through_a_link_out_of_the_folder_is_missing(tmp_path: Path) -> None:
    write(
        tmp_path, **{"outside/part-a": "x", "out/part-b": "x", "out/_spark_metadata/0": batch("link/part-a")}
    )
    (tmp_path / "out/link").symlink_to(tmp_path / "outside")
    assert "link/part-a" in refusal(tmp_path / "out").message


def test_one_file_is_not_taken_for_two(tmp_path: Path) -> None:
    write(tmp_path, **{"part-a": "x", "_spark_metadata/0": batch("p=0/part-a", "p=1/part-a")})
    assert "p=1/part-a" in refusal(tmp_path).message


def test_of_a_delta_table_its_last_version_is_read(tmp_path: Path) -> None:
    write(tmp_path, **dict.fromkeys(["a b", "p=a%3Ab/c", "d", "_change_data/cdc", "e"], "x"))
    write(tmp_path, **{version(0): commit(("add", "a%20b"), ("add", "d"), ("add", "e"))})
    write(tmp_path, **{version(1): commit(("remove", "d"), ("add", "p=a%253Ab/c"))})
    write(
        tmp_path, **{version(2): commit(("add", "e"), ("remove", "e")), "_delta_log/_last_checkpoint": "{}"}
    )
    write(tmp_path, **{f"_delta_log/{1:020}.checkpoint.parquet": "x", f"_delta_log/{1:020}.crc": "x"})

    assert below(tmp_path) == ["a b", "e", "p=a%3Ab/c"]
    (note,) = notes_on_files([str(tmp_path)])
    assert note.endswith(f": 2 files left out, as {tmp_path}/_delta_log does not list them")


CATALOG_MANAGED = '{"protocol":{"minReaderVersion":3,"readerFeatures":["catalogManaged"]}}'
DELETED = {"deletionVector": {"storageType": "u"}}


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        ({}, "holds no commit"),
        ({version(1): commit(("add", "a"))}, "lacks commits"),
        ({version(0): commit(("add", "a")), version(2): ""}, "lacks commits"),
        ({version(0): commit(("add", "a")), f"_delta_log/{9:020}.checkpoint.parquet": "x"}, "lacks commits"),
        ({f"_delta_log/{'9' * 20}.checkpoint.parquet": "x"}, "lacks commits"),
        ({version(0): commit(("add", "a"), **DELETED)}, "deletion vectors"),
        ({version(0): '{"protocol":{"minReaderVersion":4}}'}, "later version of Delta"),
        (
            {version(0): CATALOG_MANAGED},
            "later version",
        ),
        ({version(0): '{"protocol":{"minReaderVersion":"?"}}'}, "json:1: not a line"),
        ({version(0): '{"add":{"path":["a"]}}'}, "json:1: not a line"),
        ({version(0): '{"commitInfo":{}}\n{"add":'}, "json:2: not a line"),
    ],
)
def test_a_delta_log_that_cannot_be_followed_is_refused(
    log: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    write(tmp_path, a="x", **log)
    (tmp_path / "_delta_log").mkdir(exist_ok=True)
    refused = refusal(tmp_path)
    assert f"{tmp_path}/_delta_log" in refused.message
    assert sentence in refused.message
    by_spark = f"spark.read.format('delta').load('{tmp_path}').write.parquet('ANOTHER_FOLDER')"
    expected = COPY_AGAIN if "no" in sentence else by_spark
    assert expected in str(refused.hint)


def test_a_file_whose_deleted_rows_were_purged_is_read(tmp_path: Path) -> None:
    write(tmp_path, a="x", b="x")
    write(tmp_path, **{version(0): commit(("add", "a")), version(1): commit(("add", "a"), **DELETED)})
    write(tmp_path, **{version(2): commit(("remove", "a"), ("add", "b"))})
    assert below(tmp_path) == ["b"]


@pytest.mark.parametrize(("place", "content"), ALONE)
def test_a_pattern_leaves_out_what_the_list_does_and_a_name_does_not(
    place: str, content: str, tmp_path: Path
) -> None:
    listed = listed_in(place, content)
    write(tmp_path, **{"part-a": "x", "part-b": "x", "part-c": "x", "other": "x", place: listed})
    patterns = [f"{tmp_path}/part-*", f"{tmp_path}/**/part-*"]
    for pattern in patterns:
        with listings_kept():
            assert find_files([pattern]) == [f"{tmp_path}/part-a"]
            assert ": 2 files left out, as " in notes_on_files([pattern])[0]
    assert "lists none of the files that are there" in refusal(tmp_path, "part-[bc]").message

    named = [f"{tmp_path}/part-{letter}" for letter in "abc"]
    with listings_kept():
        assert find_files(named) == named
        (note,) = notes_on_files(named)
    assert note.startswith(f"{named[1]}, {named[2]}: 2 files read as named, though {tmp_path}/{place[:8]}")
    assert find_files([str(tmp_path), named[1]]) == named[:2]
    assert len(notes_on_files([str(tmp_path), named[1]])) == 2  # of c and other, and of b


def test_a_list_beside_a_file_is_looked_for_only_where_its_name_is_one_of_spark_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start of a plain run is to stay as short as it is."""
    write(tmp_path, **{"orders.jsonl": "x"})
    monkeypatch.setattr(sources, "list_around", None)
    assert below(tmp_path, "orders.jsonl") == ["orders.jsonl"]


@pytest.mark.parametrize(
    ("names", "argument", "table", "source"),
    [
        ([".hoodie/hoodie.properties", "p/a.parquet"], "", "", "hudi"),
        ([".hoodie/x", "2024/a.parquet", "2024/.hoodie_partition_metadata"], "2024", "/2024", "TABLE"),
        (["metadata/v1.metadata.json", "data/a.parquet"], "", "", "iceberg"),
        (["metadata/v1.metadata.json", "data/a.parquet"], "data", "", "iceberg"),
        (["metadata/v1.metadata.json", "data/p=1/a.parquet"], "data/p=1", "", "iceberg"),
    ],
)
def test_tables_of_hudi_and_iceberg_are_refused(
    names: list[str], argument: str, table: str, source: str, tmp_path: Path
) -> None:
    write(tmp_path, **dict.fromkeys(names, "x"))
    refused = refusal(tmp_path, argument)
    assert f"{tmp_path}{table}: holds a table of " in refused.message
    assert source in str(refused.hint)


def test_folders_of_topics_that_are_called_as_iceberg_s_are_read(tmp_path: Path) -> None:
    write(tmp_path, **{"metadata/metadata-0.json": "x", "data/data-0.json": "x"})
    assert below(tmp_path) == ["data/data-0.json", "metadata/metadata-0.json"]
    assert below(tmp_path, "data") == ["data/data-0.json"]


@pytest.mark.parametrize("argument", ["", "out", "out/*.jsonl", "**/*.jsonl", "out/part-0.jsonl"])
def test_a_copy_of_what_a_run_has_not_finished_on_a_store_is_refused(argument: str, tmp_path: Path) -> None:
    write(tmp_path, **{"out/part-0.jsonl": "x", "out/_unfinished-abcdefgh": ""})
    assert f"{tmp_path}/out: an unfinished run wrote this" in refusal(tmp_path, argument).message


def test_a_copy_of_a_dump_that_kcompact_wrote_to_a_store_lacks_no_part(tmp_path: Path) -> None:
    write(
        tmp_path, **{"out/part-0.jsonl": "x", "out/_kcompact.json": manifest("part-0.jsonl", "part-1.jsonl")}
    )
    assert "lists a file that is not there: 'part-1.jsonl'" in refusal(tmp_path).message
    write(tmp_path, **{"out/_kcompact.json": ""})
    assert "out/_kcompact.json: not a manifest of kcompact" in refusal(tmp_path).message


def test_two_lists_of_one_folder_are_refused(tmp_path: Path) -> None:
    write(tmp_path, **{"a": "x", "_spark_metadata/0": batch("a"), version(0): commit(("add", "a"))})
    assert "holds two lists" in refusal(tmp_path).message


def test_a_pipe_in_place_of_a_batch_is_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path, a="x")
    (tmp_path / "_spark_metadata").mkdir()
    os.mkfifo(tmp_path / "_spark_metadata/0")
    assert "lists no batch" in refusal(tmp_path).message


def stored_listing(
    contents: dict[str, str], argument: str, monkeypatch: pytest.MonkeyPatch
) -> stored.Listing:
    entries = [StoredObject(f"s3://b/{name}", len(text)) for name, text in sorted(contents.items())]
    monkeypatch.setattr(
        stored, "list_objects", lambda root: [entry for entry in entries if entry.address.startswith(root)]
    )
    below = {entry.address.removeprefix("s3://b/") for entry in entries}
    monkeypatch.setattr(
        stored,
        "child_names",
        lambda folder, _: {
            name.removeprefix(folder.removeprefix("s3://b/")).partition("/")[0]
            for name in below
            if name.startswith(folder.removeprefix("s3://b/"))
        },
    )
    monkeypatch.setattr(stored, "read", lambda address: contents[address.removeprefix("s3://b/")].encode())
    stored.forget_listings()
    return stored.stored_files(argument)


STORED = {
    "in/out/_spark_metadata/0": batch("p=0/part-a", "empty"),
    "in/out/p=0/part-a": "x",
    "in/out/p=0/part-b": "x",
    "in/out/empty": "",
    "in/data/t/_delta_log/00000000000000000000.json": commit(("add", "part-1")),
    "in/data/t/part-1": "x",
    "in/data/t/part-2": "x",
    "in/other": "x",
    "hudi/.hoodie/x": "x",
    "hudi/a": "x",
    "ours/a/_kcompact.json": manifest("part-a"),
    "ours/a/_unfinished-abcdefgh": "",
    "ours/a/part-a": "x",
    "ours/a/part-b": "x",
    "begun/a/_unfinished-abcdefgh": "",
    "begun/a/part-a": "x",
    "beside/a": "x",
    **{f"beside/{folder}/{name}": "x" for folder in ("a.report", "b") for name in REPORT_FILES},
    "beside/c.report/gaps.csv": "x",
}


@pytest.mark.parametrize(
    ("argument", "files", "unlisted"),
    [
        ("s3://b/in/", ["in/data/t/part-1", "in/other", "in/out/p=0/part-a"], 2),
        ("s3://b/in/out", ["in/out/p=0/part-a"], 1),
        ("s3://b/*/out/**/part-*", ["in/out/p=0/part-a"], 1),
        ("s3://b/in/data/t/part-*", ["in/data/t/part-1"], 1),
        ("s3://b/in/out/p=0/part-b", ["in/out/p=0/part-b"], 0),
        ("s3://b/in/out/p=0/", ["in/out/p=0/part-a"], 1),
        ("s3://b/in/out/p=0/part-*", ["in/out/p=0/part-a"], 1),
        ("s3://b/ours/", ["ours/a/part-a"], 1),
        ("s3://b/ours/*/part-*", ["ours/a/part-a"], 1),
        ("s3://b/ours/a/part-b", ["ours/a/part-b"], 0),
        (
            "s3://b/beside/",
            ["beside/a", *sorted(f"beside/b/{name}" for name in REPORT_FILES), "beside/c.report/gaps.csv"],
            0,
        ),
    ],
)
def test_prefixes_and_patterns_of_a_store_follow_lists(
    argument: str, files: list[str], unlisted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = stored_listing(STORED, argument, monkeypatch)
    assert listing.files == [f"s3://b/{name}" for name in files]
    assert len(listing.unlisted) == unlisted
    if argument == "s3://b/in/":
        (note,) = notes_on_files([argument])
        lists = "s3://b/in/data/t/_delta_log, s3://b/in/out/_spark_metadata"
        assert note.endswith(f": 2 files left out, as {lists} do not list them")


@pytest.mark.parametrize(
    ("change", "argument", "sentence"),
    [
        ({"in/out/p=0/part-a": None}, "s3://b/in/", "lists a file that is not there: '.*part-a'"),
        ({"in/out/_spark_metadata/0": "v2\n"}, "s3://b/in/out/**", "a list of version 2"),
        ({"in/out/_spark_metadata/0": batch("p=0/c")}, "s3://b/in/out/p=0", "that is not there: .*/p=0/c"),
        ({}, "s3://b/in/out/p*/part-b", "_spark_metadata lists none of the files"),
        ({}, "s3://b/hudi/*", "holds a table of Hudi"),
        ({}, "s3://b/begun/", "s3://b/begun/a: an unfinished run"),
        ({}, "s3://b/begun/a/part-*", "s3://b/begun/a: an unfinished run"),
        ({"ours/a/part-a": None}, "s3://b/ours/", "lists a file that is not there: '.*part-a'"),
        ({"ours/a/_kcompact.json": ""}, "s3://b/ours/*/part-*", "not a manifest of kcompact"),
    ],
)
def test_of_a_store_what_cannot_be_followed_is_refused(
    change: dict[str, str | None], argument: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = {name: text for name, text in (STORED | change).items() if text is not None}
    with pytest.raises(InputError, match=sentence):
        stored_listing(contents, argument, monkeypatch)


RECORD = '{{"topic":"orders","partition":0,"offset":{},"timestamp":1760000000000,"key":"a","value":"{}"}}\n'


@pytest.mark.spark
def test_a_folder_that_spark_streamed_into(spark: Any, kcompact: Callable[..., Run], tmp_path: Path) -> None:
    """Batches that were compacted, in folders of partitions, beside the file of a batch that was aborted."""
    out = tmp_path / "a folder"
    schema = "topic string, partition int, offset long, timestamp long, key string, value string"
    spark.conf.set("spark.sql.streaming.fileSink.log.compactInterval", "2")
    for number in range(4):
        write(tmp_path / "in", **{f"{number}.json": RECORD.format(number, f"value {number}")})
        writer = spark.readStream.schema(schema).json(str(tmp_path / "in")).writeStream.format("json")
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).partitionBy("topic")
        writer.trigger(availableNow=True).start(str(out)).awaitTermination()
    spark.conf.unset("spark.sql.streaming.fileSink.log.compactInterval")
    assert list((out / "_spark_metadata").glob("*.compact"))
    write(out / "topic=orders", **{"part-00000-aborted.json": RECORD.format(99, "aborted")})

    run = kcompact("compact", str(out), "-o", "-")
    assert (run.exit_code, run.stdout.count("\n")) == (0, 1)
    assert "value 3" in run.stdout
    assert "part-00000-aborted.json: 1 file left out, as " in run.stderr
    next(path for path in (out / "topic=orders").glob("part-*") if "value 1" in path.read_text()).unlink()
    run = kcompact("inspect", str(out))
    assert run.exit_code == 2
    assert "lists a file that is not there: 'part-" in run.stderr
