"""Lines of kafka-console-consumer that do not agree: none of them is taken for something else."""

from pathlib import Path

import pytest

from dump_pipeline import open_one
from kcompact.dumps.layouts import LAYOUTS
from kcompact.errors import InputError

PLACE = "CreateTime:1700000000000\tPartition:0\tOffset:"


def refusal(path: Path, text: str, **options: object) -> InputError:
    path.write_text(text)
    with pytest.raises(InputError) as caught, open_one(path, **options) as dump:
        for split in dump.splits(1 << 40):
            list(LAYOUTS[dump.files[0].layout].records(dump.files[0], split))
    return caught.value


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{PLACE}0\tk1\tv\n{PLACE}1\tk2\tone\ntwo\tb\n{PLACE}2\tk3\tv\n", 3),
        (f"{PLACE}0\tk1\tv\n{PLACE}1\tk2\tone\ntwo\n", 3),
        ("CreateTime:1\tk1\ta\nb\nCreateTime:2\tk1\tv2\n", 2),
        (f"\n{PLACE}0\tk1\tv\n\n{PLACE}1\tk2\ta\n17\tx\ty\tz\tw\n", 5),
    ],
)
def test_a_line_end_in_a_value_is_found_where_it_shows(tmp_path: Path, text: str, line: int) -> None:
    error = refusal(path := tmp_path / "t.txt", text)
    assert error.message.startswith(f"{path}:{line}: a line that does not begin as the others")
    assert "--columns" not in str(error.hint)


def test_it_is_found_far_behind_what_is_looked_at_first(tmp_path: Path) -> None:
    lines = "".join(f"Partition:0\tOffset:{offset}\tk\tv\n" for offset in range(1000))
    error = refusal(path := tmp_path / "t.txt", f"{lines}3\t4\tk\tv\n")
    assert error.message.startswith(f"{path}:1001: a line that does not begin as the others")


def test_a_label_that_nobody_knows_gets_no_hint_to_read_labels_as_keys(tmp_path: Path) -> None:
    error = refusal(tmp_path / "t.txt", f"Topic:t\t{PLACE}0\tk\tv\nTopic:t\t{PLACE}1\tk\tw\n")
    assert "whose columns nobody can tell apart" in error.message
    assert "--columns" not in str(error.hint)


def test_labels_are_not_taken_for_keys_where_columns_are_named(tmp_path: Path) -> None:
    error = refusal(tmp_path / "t.txt", f"{PLACE}0\tk\tv\n", columns=("key", "value"), delimiter="\t")
    assert "the first column is a label of kafka-console-consumer" in error.message
