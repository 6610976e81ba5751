"""Which files a folder holds: those that a person would name."""

import os
from pathlib import Path

import pytest

from kcompact.broker.state.cleaner_state import STATE_NAMES
from kcompact.dumps.files.containers import is_plain_path
from kcompact.dumps.files.sources import find_files, notes_on_files
from kcompact.dumps.output.outputs import OutputChoice, name_outputs
from kcompact.errors import InputError

COUNT = ["part-2.jsonl", "part-10.jsonl", "deep/er/x.jsonl"]
DO_NOT = [
    *(".hidden", "_SUCCESS", "_metadata", "_common_metadata", "_temporary/part-0.jsonl"),
    *("+tmp/orders/x.avro", "_started_1", "_committed_1", "deep/.part-0.parquet.crc", "empty.jsonl"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in [*COUNT, *DO_NOT]:
        path = tmp_path / "d" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if name.startswith("empty") else "x")
    return tmp_path / "d"


@pytest.mark.parametrize("spelt", ["{}", "{}/", "{}//"])
def test_a_folder_holds_what_is_no_mark_and_not_empty(folder: Path, spelt: str) -> None:
    files = find_files([spelt.format(folder)])

    assert [f"{folder}/deep/er/x.jsonl", f"{folder}/part-2.jsonl", f"{folder}/part-10.jsonl"] == files


def test_the_folder_one_is_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    assert ["deep/er/x.jsonl", "part-2.jsonl", "part-10.jsonl"] == find_files(["."])


def test_a_file_by_two_names_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "link").symlink_to(folder / "sub", target_is_directory=True)
    path = folder / "dump.jsonl"
    path.write_text("{}\n")
    assert find_files(["dump.jsonl", "./dump.jsonl", str(path)]) == ["dump.jsonl"]
    assert find_files([str(path), "dump.jsonl"]) == [str(path)]
    assert len(find_files(["dump.jsonl", "link/../dump.jsonl"])) == 2  # ``..`` of a link may be elsewhere


def test_a_topic_whose_name_begins_with_an_underscore_is_no_mark(folder: Path) -> None:
    names = [f"_schemas/partition=0/_schemas+0+{number:010}.json" for number in (0, 9)]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")

    assert [f"{folder}/{name}" for name in names] == find_files([str(folder)])[:2]
    assert [f"{folder}/{name}" for name in names] == find_files([f"{folder}/**/*.json"])


def test_links_to_files_count_and_links_to_folders_do_not(folder: Path) -> None:
    (folder / "link.jsonl").symlink_to(folder / "part-2.jsonl")
    (folder / "again").symlink_to(folder)
    (folder / "broken.jsonl").symlink_to(folder / "nowhere")
    (folder / "itself.jsonl").symlink_to(folder / "itself.jsonl")

    files = find_files([str(folder)])

    assert f"{folder}/link.jsonl" in files
    assert len(COUNT) + 1 == len(files)


def test_links_to_folders_broken_links_and_pipes_are_left_out_with_a_note(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "in", tmp_path / "in-older"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "a.jsonl").write_text("x")
    (folder / "older").symlink_to(elsewhere)
    (folder / "back").symlink_to(folder)
    (folder / "broken.jsonl").symlink_to(tmp_path / "nowhere")
    os.mkfifo(folder / "pipe.jsonl")

    (note,) = notes_on_files([str(folder)])

    names, reason = note.split(": ")
    assert set(names.split(", ")) == {f"{folder}/{name}" for name in ("older", "broken.jsonl", "pipe.jsonl")}
    assert "a link to a folder, or no file" in reason


def test_a_folder_of_marks_alone_is_no_dump(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").write_text("x")

    with pytest.raises(InputError, match="no dump files in this folder"):
        find_files([str(tmp_path)])


@pytest.mark.parametrize(
    ("address", "command"),
    [
        ("https://host/orders.jsonl", "curl -s https://host/orders.jsonl | kcompact compact -"),
        ("ftp://host/orders.jsonl", "known are s3://, gs://, abfss://, hdfs:// and local files"),
        ("s3a://bucket/orders/", "write it as s3://bucket/orders/"),
        ("file:///data/orders.jsonl", "write the path alone: /data/orders.jsonl"),
        ("file:/data/orders.jsonl", "write the path alone: /data/orders.jsonl"),
    ],
)
def test_an_address_is_called_one_and_a_way_to_read_it_is_named(address: str, command: str) -> None:
    with pytest.raises(InputError, match="an address that kcompact cannot read") as caught:
        find_files([address])
    assert command in str(caught.value.hint)


def test_a_pattern_of_any_depth_goes_through_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("in/a.jsonl", "in/deep/b.jsonl", "in/.hidden/c.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "up").symlink_to("..")
    monkeypatch.chdir(tmp_path)
    for pattern in ("in/**/*.jsonl", "in/**", "**/*.jsonl", "**", "i*/**/*.jsonl"):
        assert find_files([pattern]) == ["in/a.jsonl", "in/deep/b.jsonl"]
    assert find_files([f"{tmp_path}/**/b.jsonl"]) == [f"{tmp_path}/in/deep/b.jsonl"]
    assert find_files(["in/**a.jsonl"]) == ["in/a.jsonl"]


def test_what_doubtful_place_is_left_out_with_a_note(folder: Path) -> None:
    for name in (".t/t-0.jsonl", "_logs/_logs-0.jsonl", ".git/empty", "_committed_x/x-0.jsonl"):
        (folder / name).parent.mkdir()
        (folder / name).write_text("" if name.endswith("empty") else "x")

    assert f"{folder}/_committed_x/x-0.jsonl" in find_files([str(folder)])
    (note,) = notes_on_files([str(folder)])
    *paths, words = note.partition(
        ": left out, as hidden, a tool's own, a link to a folder, or no file; name it to have it read"
    )
    assert sorted(paths[0].split(", ")) == [f"{folder}/{name}" for name in (".hidden", ".t", "_logs")]
    assert [f"{folder}/.t/t-0.jsonl"] == find_files([f"{folder}/.t"])
    assert not words
    assert not notes_on_files([f"{folder}/deep"])  # a checksum is no data


def test_the_report_of_an_earlier_run_is_left_out_with_a_note(folder: Path) -> None:
    report = folder / "orders.report"
    report.mkdir()
    for name in ("report.json", "report.md", "report.html", "removed-keys.csv", "gaps.csv"):
        (report / name).write_text("x")

    assert len(find_files([str(folder)])) == len(COUNT)
    assert str(report) in notes_on_files([str(folder)])[0]
    (report / "part-0.jsonl").write_text("x")  # whatever it is, it is no report alone
    assert f"{report}/part-0.jsonl" in find_files([str(folder)])


def test_the_state_beside_a_dump_is_left_out_with_a_note(folder: Path) -> None:
    state = folder / "orders.state"
    state.mkdir()
    for name in STATE_NAMES:
        (state / name).write_text("x")

    assert len(find_files([str(folder)])) == len(COUNT)
    assert str(state) in notes_on_files([str(folder)])[0]
    (state / "part-0.jsonl").write_text("x")
    assert f"{state}/part-0.jsonl" in find_files([str(folder)])


def test_a_file_that_is_called_like_a_pattern_does_not_hide_what_the_pattern_matches(folder: Path) -> None:
    (folder / "*.jsonl").write_text("x")

    with pytest.raises(InputError, match="such as") as refused:
        find_files([f"{folder}/*.jsonl"])
    assert "[*].jsonl" in (refused.value.hint or "")
    assert [f"{folder}/*.jsonl"] == find_files([f"{folder}/[*].jsonl"])


def test_a_descriptor_is_known_by_the_path_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "orders-3.jsonl"
    path.write_text("x")
    with path.open() as source:
        descriptor = f"/dev/fd/{source.fileno()}"
        (tmp_path / "link").symlink_to(descriptor)
        for spelt in (descriptor, f"/proc/self/fd/{source.fileno()}", str(tmp_path / "link")):
            assert find_files([spelt]) == [str(path)]
            assert name_outputs([spelt], [str(path)], OutputChoice()).result == Path(
                tmp_path / "orders-3.compacted.jsonl"
            )
        path.unlink()
        assert find_files([descriptor]) == [descriptor]
        assert not is_plain_path(descriptor)
