"""The file of ``--expect-end-offsets``."""

from pathlib import Path

import pytest

from kcompact.errors import InputError
from kcompact.inspect.expectations import read_end_offsets


def read(tmp_path: Path, text: str) -> dict[tuple[str, int], int]:
    path = tmp_path / "ends"
    path.write_text(text)
    return {tuple(log): end for log, end in read_end_offsets(str(path)).items()}


def test_the_forms_that_tools_print(tmp_path: Path) -> None:
    text = "orders:0:1199\r\n# a comment\n\norders 1 7\norders:0:1199\n"
    assert read(tmp_path, text) == {("orders", 0): 1199, ("orders", 1): 7}


def test_a_byte_order_mark_is_no_part_of_a_topic(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufefforders:0:1199\n") == {("orders", 0): 1199}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "ends: no log end offsets"),
        ("\n# nothing\n", "ends: no log end offsets"),
        ("orders:0:5\norders:0:6\n", "ends:2: orders-0 ends at 5 by a line before"),
        ("orders-0 5\n", "ends:1: not TOPIC:PARTITION:END_OFFSET"),
    ],
)
def test_a_file_that_expects_nothing_or_two_things_is_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert said in caught.value.message
    assert caught.value.hint
