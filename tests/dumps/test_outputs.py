from pathlib import Path

import pytest

from kcompact.dumps.files.file_names import split_suffixes
from kcompact.dumps.output.outputs import OutputChoice, name_outputs
from kcompact.errors import OutputError


def dump_files(*paths: Path) -> list[str]:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"{}\n")
    return [str(path) for path in paths]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("dump.avro", ("dump", ".avro")),
        ("x.jsonl.gz", ("x", ".jsonl.gz")),
        ("orders.v1.json", ("orders.v1", ".json")),
        ("topic.with.dots.csv.zst", ("topic.with.dots", ".csv.zst")),
        ("dump", ("dump", "")),
        ("dump.gz", ("dump", ".gz")),
    ],
)
def test_extensions_are_a_container_and_a_format(name: str, parts: tuple[str, str]) -> None:
    assert parts == split_suffixes(name)


def test_one_file_is_written_beside_itself_with_a_report_folder(tmp_path: Path) -> None:
    files = dump_files(tmp_path / "x.jsonl.gz")

    names = name_outputs(files, files, OutputChoice())

    assert (tmp_path / "x.compacted.jsonl.gz",) == names.paths
    assert tmp_path / "x.compacted.report" == names.report


@pytest.mark.parametrize(
    ("name", "to", "output"),
    [
        ("x.csv", "parquet", "x.compacted.parquet"),
        ("x.jsonl.gz", "avro", "x.compacted.avro"),
        ("x.jsonl.gz", "jsonl", "x.compacted.jsonl.gz"),
        ("x.txt", "csv", "x.compacted.csv"),
        ("x", "kcat", "x.compacted.kcat"),
    ],
)
def test_a_file_that_is_converted_is_written_beside_itself_under_the_new_suffix(
    tmp_path: Path, name: str, to: str, output: str
) -> None:
    files = dump_files(tmp_path / name)

    assert (tmp_path / output,) == name_outputs(files, files, OutputChoice(to=to)).paths


def test_a_folder_keeps_the_names_inside(tmp_path: Path) -> None:
    files = dump_files(tmp_path / "d" / "a.jsonl", tmp_path / "d" / "sub" / "b.jsonl")

    names = name_outputs([f"{tmp_path}/d/"], files, OutputChoice())

    assert tmp_path / "d.compacted" == names.folder
    assert ["a.jsonl", "sub/b.jsonl"] == [
        str(path.relative_to(tmp_path / "d.compacted")) for path in names.paths
    ]
    assert tmp_path / "d.compacted.report" == names.report


def test_several_files_need_a_name_and_the_hint_says_which_command_to_type(tmp_path: Path) -> None:
    files = dump_files(tmp_path / "a.jsonl", tmp_path / "b.jsonl")

    with pytest.raises(OutputError) as caught:
        name_outputs(files, files, OutputChoice())

    assert f"kcompact compact {files[0]} {files[1]} -o" in str(caught.value.hint)


def test_several_files_into_one(tmp_path: Path) -> None:
    files = dump_files(tmp_path / "a.jsonl", tmp_path / "b.jsonl")

    names = name_outputs(files, files, OutputChoice(output=str(tmp_path / "o.jsonl")))

    assert (tmp_path / "o.jsonl",) == names.paths
    assert names.folder is None


def test_two_inputs_of_one_name_cannot_go_into_one_folder(tmp_path: Path) -> None:
    files = dump_files(tmp_path / "a" / "x.jsonl", tmp_path / "b" / "x.jsonl")

    with pytest.raises(OutputError, match=r"two inputs are called x\.jsonl") as caught:
        name_outputs(files, files, OutputChoice(output=f"{tmp_path}/out/"))

    hint = str(caught.value.hint)
    assert hint.startswith("join them into one file with -o FILE, or give one folder that holds both")
    assert "runs" not in hint  # a delete in one run does not reach the other's records
    assert "rename" not in hint  # the name may be the topic
    in_folder = name_outputs([f"{tmp_path}/"], files, OutputChoice(output=f"{tmp_path}/out/"))
    assert in_folder.paths == (tmp_path / "out/a/x.jsonl", tmp_path / "out/b/x.jsonl")


def test_objects_below_a_prefix_keep_their_paths_in_a_folder(tmp_path: Path) -> None:
    files = [f"s3://bucket/in/partition={number}//day=1/data.jsonl" for number in (0, 1)]

    names = name_outputs(
        ["s3://bucket/in"], [*files, "s3://bucket/in//x.jsonl"], OutputChoice(f"{tmp_path}/o/")
    )

    paths = ("o/partition=0/day=1/data.jsonl", "o/partition=1/day=1/data.jsonl", "o/x.jsonl")
    assert names.paths == tuple(tmp_path / path for path in paths)
    with pytest.raises(OutputError, match=r"two inputs are called data\.jsonl"):
        name_outputs(["s3://bucket/in/**"], files, OutputChoice(output=f"{tmp_path}/o/"))


def test_objects_whose_keys_differ_by_slashes_alone_cannot_go_into_one_folder(tmp_path: Path) -> None:
    files = ["s3://bucket/in/a/x.jsonl", "s3://bucket/in/a//x.jsonl"]
    with pytest.raises(OutputError, match=r"two inputs are called a/x\.jsonl"):
        name_outputs(["s3://bucket/in/"], files, OutputChoice(output=f"{tmp_path}/o/"))


def test_a_link_in_a_folder_keeps_its_own_name(tmp_path: Path) -> None:
    files = dump_files(tmp_path / "elsewhere.jsonl")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "link.jsonl").symlink_to(files[0])

    names = name_outputs(
        [f"{tmp_path}/d/"], [f"{tmp_path}/d/link.jsonl"], OutputChoice(output=f"{tmp_path}/out")
    )

    assert (tmp_path / "out" / "link.jsonl",) == names.paths


def test_standard_input_goes_to_standard_output_without_a_report() -> None:
    names = name_outputs(["-"], ["-"], OutputChoice())

    assert names.to_stdout
    assert names.report is None


def test_standard_input_has_no_name_for_a_file_of_a_folder(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="standard input has no name") as caught:
        name_outputs(["-"], ["-"], OutputChoice(f"{tmp_path}/$(id)/"))
    assert caught.value.hint == f"name one: -o '{tmp_path}/$(id)/orders.jsonl'"


def test_a_dot_is_the_folder_it_stands_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" / "below")
    files = dump_files(tmp_path / "x.jsonl")

    names = name_outputs(files, files, OutputChoice(output=".."))

    assert tmp_path / "here" == names.folder
    assert tmp_path / "here.report" == names.report


@pytest.mark.parametrize(("output", "words"), [("/", "root folder"), ("/..", "root")])
def test_a_place_without_a_name_is_refused(tmp_path: Path, output: str, words: str) -> None:
    files = dump_files(tmp_path / "x.jsonl")

    with pytest.raises(OutputError, match=words):
        name_outputs(files, files, OutputChoice(output=output))


@pytest.mark.parametrize(
    ("folder", "output", "is_file"),
    [
        ("events", "out.jsonl", True),
        ("events", "out.parquet", True),
        ("events", "out.jsonl.gz", True),
        ("events.parquet", "out.jsonl", True),
        ("events.parquet", "out.parquet", False),
        ("events", "out", False),
        ("events", "out.d", False),
        ("events", "out.jsonl/", False),
    ],
)
def test_a_folder_s_dump_is_one_file_where_its_output_is_named_like_one(
    tmp_path: Path, folder: str, output: str, *, is_file: bool
) -> None:
    (tmp_path / folder).mkdir()
    files = [str(tmp_path / folder / name) for name in ("part-0.parquet", "part-1.parquet")]
    choice = OutputChoice(f"{tmp_path}/{output}")
    names = name_outputs([str(tmp_path / folder)], files, choice)
    assert (names.folder is None) == is_file
    assert len(names.paths) == (1 if is_file else 2)


def test_a_report_that_is_wanted_and_not_wanted_is_asked_about(tmp_path: Path) -> None:
    choice = OutputChoice("out.jsonl", str(tmp_path / "report"), no_report=True)
    with pytest.raises(OutputError, match="exclude each other"):
        name_outputs(["a.jsonl"], ["a.jsonl"], choice)


def test_a_whole_bucket_s_report_needs_a_place(tmp_path: Path) -> None:
    inputs = dump_files(tmp_path / "d.jsonl")
    with pytest.raises(
        OutputError,
        match="s3://bucket/: a report lies beside the output, and there is nothing beside a whole",
    ) as caught:
        name_outputs(inputs, inputs, OutputChoice("s3://bucket/"))
    assert "--report" in str(caught.value.hint)
    for choice in (
        OutputChoice("s3://bucket/", "s3://other/"),
        OutputChoice("s3://bucket/", None, no_report=True),
    ):
        assert name_outputs(inputs, inputs, choice).stored
