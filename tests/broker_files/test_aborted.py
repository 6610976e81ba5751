from pathlib import Path

import pytest

from kcompact.broker.aborted import AbortedRange, read_aborted
from kcompact.broker.log_names import LogName
from kcompact.errors import InputError


def test_ranges_are_read_by_log_in_ascending_order(tmp_path: Path) -> None:
    path = tmp_path / "aborted.txt"
    path.write_text("# topic partition first last\norders 0 20 22\norders 1 5 5\norders 0 3 9\n")
    assert read_aborted(str(path)).by_log == {
        LogName("orders", 0): (AbortedRange(3, 9), AbortedRange(20, 22)),
        LogName("orders", 1): (AbortedRange(5, 5),),
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("orders 0 5", ":1: 'orders 0 5' is not"),
        ("orders 0 5 4", ":1: the last offset, 4"),
        ("o 0 x 4", "'x'"),
    ],
)
def test_what_is_no_range_is_refused(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "aborted.txt"
    path.write_text(line)
    with pytest.raises(InputError, match=message):
        read_aborted(str(path))


def test_a_line_of_names_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "aborted.txt"
    path.write_text("topic partition first_offset last_offset\norders 0 3 9\n")
    with pytest.raises(InputError, match=":1: 'topic partition") as refused:
        read_aborted(str(path))
    assert refused.value.hint == "is it a header line? Lines that begin with # are skipped"
    path.write_text(f"# {path.read_text()}")
    assert list(read_aborted(str(path)).by_log) == [LogName("orders", 0)]
