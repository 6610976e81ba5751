"""Files beside a dump with a word, a number or a byte that nobody writes: read, or refused in a sentence."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile_values import spelt_in_cells, spelt_in_json
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcompact.broker.aborted import read_aborted
from kcompact.broker.batch_lists import read_batches
from kcompact.broker.checkpoint import read_checkpoint
from kcompact.broker.delete_horizons import parse_delete_horizons
from kcompact.broker.log_offsets import parse_log_offsets
from kcompact.broker.quantities import parse_duration_ms, parse_moment_ms, parse_size_bytes
from kcompact.broker.segment_lists import read_segments
from kcompact.broker.state.cleaner_state import OUTPUT_NAME, parse_output
from kcompact.broker.text_lines import read_text
from kcompact.broker.topic_configs import read_topic_configs
from kcompact.commands.incoming.verify_inputs import read_keys
from kcompact.errors import KcompactError
from kcompact.inspect.expectations import read_end_offsets

EXAMPLES = int(os.environ.get("KCOMPACT_TORTURE_COUNT", "60"))
IN_CELLS, IN_JSON = spelt_in_cells(), spelt_in_json()
TORTURED = settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
_FOLDER = "/kafka/orders-0"
_BATCH = (
    "baseOffset: 0 lastOffset: 1 count: 2 baseSequence: -1 lastSequence: -1 producerId: 7 producerEpoch: 0"
    " partitionLeaderEpoch: 0 isTransactional: true isControl: true deleteHorizonMs: OptionalLong[99]"
    " position: 0 CreateTime: 1700000000000 size: 100 magic: 2 compresscodec: none crc: 1 isvalid: true"
)
TEXTS: dict[str, tuple[Callable[[str], Any], str]] = {
    "aborted": (read_aborted, "orders 0 3 9\norders 1 5 5\n"),
    "checkpoint": (read_checkpoint, "0\n2\norders 0 3\norders 1 5\n"),
    "horizons": (
        lambda path: parse_delete_horizons(read_text(path), path),
        "orders 0 3 1700000000000\norders 0 5 1700000000001\n",
    ),
    "end_offsets": (read_end_offsets, "orders:0:1199\norders 1 7\n"),
    "keys": (lambda path: read_keys(path)[0], "k1\nbase64:azI=\n"),
    "segment_table": (read_segments, "orders 0 0 1000 1700000000000\norders 0 10 1000\n"),
    "listing": (
        read_segments,
        f"100 1700000000.5 {_FOLDER}/{0:020}.log\n100 1700000001 {_FOLDER}/{9:020}.log\n",
    ),
    "ls": (
        read_segments,
        f"{_FOLDER}:\n-rw-r--r-- 1 root root 100 2024-01-31 10:00:00.123456789 +0000 {0:020}.log\n",
    ),
    "dump_log": (
        read_batches,
        f"Dumping {_FOLDER}/{0:020}.log\n{_BATCH}\n| offset: 0 keySize: 4 endTxnMarker: COMMIT\n",
    ),
    "batch_table": (
        read_batches,
        "topic\tpartition\tbaseOffset\tlastOffset\tcount\tbytes\tcontrol\norders\t0\t0\t1\t2\t100\tABORT\n",
    ),
    "properties": (
        read_topic_configs,
        "segment.bytes=64MiB\nretention.ms = 7d\nmin.cleanable.dirty.ratio: 0.5\n",
    ),
    "describe": (
        read_topic_configs,
        """Dynamic configs for topic orders are:
  segment.ms=1000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:segment.ms=1000}
Topic: orders\tTopicId: x\tConfigs: cleanup.policy=compact,delete,segment.bytes=1073741824
""",
    ),
}
STATE = {
    "schema_version": 1,
    "files": [{"name": "a.jsonl", "size_bytes": 1, "sha256": "ab"}],
    "last_offsets": [["orders", 0, 7]],
    "sha256": {"cleaner-offset-checkpoint": "ab"},
}


def numbers_in(value: Any) -> list[int]:
    """All whole numbers within dataclasses, dicts and tuples."""
    if isinstance(value, int):
        return [value]
    if isinstance(value, dict):
        return [number for pair in value.items() for part in pair for number in numbers_in(part)]
    if isinstance(value, tuple | list):
        return [number for item in value for number in numbers_in(item)]
    return numbers_in(vars(value)) if hasattr(value, "__dict__") else []


@pytest.mark.everyday(2)
@pytest.mark.parametrize("name", TEXTS)
@TORTURED
@given(data=st.data())
def test_a_word_of_any_kind_is_read_or_refused(name: str, tmp_path: Path, data: st.DataObject) -> None:
    read, text = TEXTS[name]
    pieces = [piece.encode() for piece in re.split(r"([\s:=,\[\]/.-])", text)]
    for _ in range(data.draw(st.integers(1, 2))):
        pieces[data.draw(st.integers(0, len(pieces) - 1))] = data.draw(st.sampled_from(IN_CELLS))
    path = tmp_path / "told"
    path.write_bytes(b"".join(pieces))
    try:
        found = read(str(path))
    except KcompactError as refused:
        assert str(path) in refused.message
        assert len(refused.message) < 2_000, refused.message
    else:
        assert all(-(2**63) <= number < 2**63 for number in numbers_in(found))


@TORTURED
@given(data=st.data())
def test_a_state_of_any_kind_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    words = re.split(r'("[^"]*"|\d+)', json.dumps(STATE))
    number = data.draw(st.integers(0, len(words) - 1))
    path = tmp_path / OUTPUT_NAME
    parts = [word.encode() for word in words]
    path.write_bytes(b"".join([*parts[:number], data.draw(st.sampled_from(IN_JSON)), *parts[number + 1 :]]))
    try:
        found, _ = parse_output(read_text(str(path)), str(path))
    except KcompactError as refused:
        assert str(path) in refused.message
        assert len(refused.message) < 2_000
    else:
        assert all(type(last) is int for last in found.last_offsets.values())
        assert all(type(file.size_bytes) is int for file in found.files)


@pytest.mark.parametrize("parse", [parse_duration_ms, parse_size_bytes, parse_moment_ms])
def test_quantities_of_any_kind_are_parsed_or_refused(parse: Callable[[str], int]) -> None:
    for text in [*(word.decode("utf-8", "replace") for word in IN_CELLS), "9" * 400 + ".5h", "1e9d"]:
        try:
            assert isinstance(parse(text), int)
        except ValueError as error:
            assert "set_int_max_str_digits" not in str(error)


def test_offsets_on_the_command_line_are_parsed_or_refused() -> None:
    for text in [word.decode("utf-8", "replace") for word in IN_CELLS]:
        for argument in (text, f"orders-0={text}", f"orders-{text}=5"):
            try:
                offsets = parse_log_offsets("--log-start-offset", [argument])
            except KcompactError as refused:
                assert len(refused.message) < 200
            else:
                assert all(0 <= offset < 2**63 for offset in offsets.by_log.values())
