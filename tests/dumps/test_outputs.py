from dataclasses import replace
from pathlib import Path

import pytest

from kcompact.dumps.layout import DumpFile
from kcompact.dumps.outputs import OutputChoice, plan_outputs, split_suffixes
from kcompact.errors import OutputError


def dump_files(*paths: Path) -> tuple[DumpFile, ...]:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"{}\n")
    return tuple(
        DumpFile(number, str(path), str(path), 3, "json-lines", None) for number, path in enumerate(paths)
    )


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

    plan = plan_outputs([files[0].path], files, OutputChoice())

    assert [tmp_path / "x.compacted.jsonl.gz"] == [target.path for target in plan.targets]
    assert tmp_path / "x.compacted.report" == plan.report


def test_a_folder_keeps_the_names_inside(tmp_path: Path) -> None:
    files = dump_files(tmp_path / "d" / "a.jsonl", tmp_path / "d" / "sub" / "b.jsonl")

    plan = plan_outputs([f"{tmp_path}/d/"], files, OutputChoice())

    assert tmp_path / "d.compacted" == plan.folder
    assert ["a.jsonl", "sub/b.jsonl"] == [
        str(target.path.relative_to(tmp_path / "d.compacted")) for target in plan.targets
    ]
    assert tmp_path / "d.compacted.report" == plan.report


def test_several_files_need_a_name_and_the_hint_says_which_command_to_type(tmp_path: Path) -> None:
    files = dump_files(tmp_path / "a.jsonl", tmp_path / "b.jsonl")

    with pytest.raises(OutputError) as caught:
        plan_outputs([file.path for file in files], files, OutputChoice())

    assert f"kcompact compact {files[0].path} {files[1].path} -o" in str(caught.value.hint)


def test_several_files_into_one(tmp_path: Path) -> None:
    files = dump_files(tmp_path / "a.jsonl", tmp_path / "b.jsonl")

    plan = plan_outputs([file.path for file in files], files, OutputChoice(output=str(tmp_path / "o.jsonl")))

    assert [files] == [target.files for target in plan.targets]


def test_two_inputs_of_one_name_cannot_go_into_one_folder(tmp_path: Path) -> None:
    files = dump_files(tmp_path / "a" / "x.jsonl", tmp_path / "b" / "x.jsonl")

    with pytest.raises(OutputError, match=r"two inputs are called x\.jsonl"):
        plan_outputs([file.path for file in files], files, OutputChoice(output=f"{tmp_path}/out/"))


def test_a_link_in_a_folder_keeps_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    elsewhere = dump_files(tmp_path / "elsewhere.jsonl")[0]
    (tmp_path / "d" / "link.jsonl").symlink_to(elsewhere.path)
    files = (replace(elsewhere, path=str(tmp_path / "d" / "link.jsonl")),)

    plan = plan_outputs([f"{tmp_path}/d/"], files, OutputChoice(output=f"{tmp_path}/out"))

    assert [tmp_path / "out" / "link.jsonl"] == [target.path for target in plan.targets]


def test_an_output_reached_by_another_way_is_still_an_input(tmp_path: Path) -> None:
    files = dump_files(tmp_path / "d" / "a.jsonl", tmp_path / "d" / "b.jsonl")
    (tmp_path / "way").symlink_to(tmp_path / "d")

    with pytest.raises(OutputError, match="is an input"):
        plan_outputs([file.path for file in files], files, OutputChoice(f"{tmp_path}/way/", overwrite=True))


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_input_is_never_an_output(tmp_path: Path, overwrite: bool) -> None:
    files = dump_files(tmp_path / "a.jsonl")
    link = tmp_path / "link.jsonl"
    link.symlink_to(files[0].path)

    with pytest.raises(OutputError, match="is an input"):
        plan_outputs([files[0].path], files, OutputChoice(output=str(link), overwrite=overwrite))


def test_what_exists_is_replaced_only_when_asked(tmp_path: Path) -> None:
    files = dump_files(tmp_path / "a.jsonl")
    (tmp_path / "a.compacted.jsonl").write_text("precious")

    with pytest.raises(OutputError, match="exists already"):
        plan_outputs([files[0].path], files, OutputChoice())
    plan_outputs([files[0].path], files, OutputChoice(overwrite=True))


def test_standard_input_goes_to_standard_output_without_a_report() -> None:
    plan = plan_outputs(["-"], (), OutputChoice())

    assert plan.to_stdout
    assert plan.report is None
