"""Keys gathered from a window's lines are the bytes that stand there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompact.dumps.line_keys import gather_keys
from kcompact.dumps.line_window import ByteRange, windows_of


@given(st.lists(st.tuples(st.text("abé", min_size=1, max_size=9), st.sampled_from("knu")), min_size=1))
def test_keys_are_cut_out_of_their_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("keys") / "lines"
    spelt = [text.encode() for text, _ in lines]
    path.write_bytes(b"".join(b"<" + text + b">\n" for text in spelt))
    (window,) = windows_of([ByteRange(str(path), 0, path.stat().st_size)])
    kinds = np.array([kind for _, kind in lines])
    starts = np.where(kinds == "u", 0, window.starts + 1)  # u: fits nothing, its start was never set
    lengths = np.where(kinds == "k", [len(text) for text in spelt], np.where(kinds == "n", -1, 0))

    keys = gather_keys(window, starts, lengths).to_pylist()

    expected = {"n": None, "u": b""}
    assert keys == [expected.get(kind, text) for text, (_, kind) in zip(spelt, lines, strict=True)]


def test_no_lines_have_no_keys(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("keys") / "lines"
    path.write_bytes(b"<a>\n")
    (window,) = windows_of([ByteRange(str(path), 0, 4)])
    assert gather_keys(window, np.array([], np.int64), np.array([], np.int64)).to_pylist() == []
    assert window.holds(ord("a"))
    assert not window.holds(ord("b"))
