"""Text with one delimiter: its keys and values as the tools wrote them, and what the tools say at its end."""

from pathlib import Path
from typing import Any

import pytest

from dump_pipeline import index_all, judged, open_one
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes, refuse_doubts
from kcompact.errors import InputError

FIXTURES = Path(__file__).parent / "fixtures"
Pair = tuple[bytes | None, bytes | None]


def pairs(path: Path, **options: Any) -> list[Pair]:
    with open_one(path, **options) as dump:
        file = dump.files[0]
        records = [r for split in dump.splits(1) for _, _, r in LAYOUTS[file.layout].records(file, split)]
        table, notes = index_all(dump)
        check_notes(dump, notes)
    assert table["key"].to_pylist() == [record.key for record in records]
    return [(record.key, record.value) for record in records]


def lines(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


KEYS = {
    "kcat-1.7-K-colon.txt": [b"spade", b"rake", b"spade", b"hoe", b"rake"],
    "console-consumer-3.7-print-key-only.txt": [b"spade", b"rake", b"spade", b"rake", b"hoe"],
    "console-consumer-3.7-consumer-offsets.txt": [
        b"[shed,tools,0]",
        b"[shed,tools,1]",
        b"[shed,tools,0]",
        b"[shed,tools,1]",
    ],
    "debezium-2-watch-topic-k.txt": [b'{"id":1}', b'{"id":2}', b'{"id":2}', b'{"id":2}'],
    "risingwave-upsert-caret.txt": [b'{"ID": 1}', b'{"ID": 2}', b'{"ID": 1}', b'{"ID": 2}'],
}


@pytest.mark.parametrize("name", KEYS)
def test_it_is_recognised_without_options(name: str) -> None:
    records = pairs(FIXTURES / name)
    assert [key for key, _ in records] == KEYS[name]
    deleted = {key for key, _ in records if dict(records)[key] is None}
    assert len(deleted) == 1


def test_the_registry_s_topic_is_recognised() -> None:
    records = pairs(FIXTURES / "console-consumer-3.7-schemas.txt")
    assert [value is None for _, value in records] == [False, False, False, True]
    assert records[3][0] == records[1][0]


def test_the_last_column_takes_the_rest_of_the_line() -> None:
    assert pairs(FIXTURES / "kcat-1.7-K-colon.txt")[0][1] == b'{"rack":"north: upper","pieces":3}'
    assert pairs(FIXTURES / "risingwave-upsert-caret.txt")[0][1] == b'{"ID": 1, "title": "spade^s"}'


def test_a_column_that_is_named_last_takes_the_rest_too(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.txt", 'a,0,{"x":1,"y":2}\n"a,b",1,c\n')
    columns = ("key", "offset", "value")
    with pytest.raises(InputError, match="cells in quotes, which are CSV's or a part of the data") as asked:
        pairs(path, columns=columns)
    assert "--dialect csv" in str(asked.value.hint)
    assert pairs(path, columns=columns, dialect="text") == [
        (b"a", b'{"x":1,"y":2}'),
        (b'"a,b"', b"c"),
    ]


@pytest.mark.parametrize("name", ["console-consumer-3.7-print-key-only.txt", "debezium-2-watch-topic-k.txt"])
def test_the_word_null_is_asked_about_where_it_matters(name: str) -> None:
    with open_one(FIXTURES / name) as dump:
        _, notes = index_all(dump)
        assert any("the word null" in remark for remark in check_notes(dump, notes))
        with pytest.raises(InputError, match="--drop-tombstones depends") as caught:
            refuse_doubts(dump, notes, {"value": "--drop-tombstones"})
        assert "--tombstone literal:null" in str(caught.value.hint)


def test_the_word_null_is_text_where_the_user_says_so() -> None:
    path = FIXTURES / "console-consumer-3.7-print-key-only.txt"
    assert pairs(path, tombstone="missing")[3] == (b"rake", b"null")
    assert pairs(path, tombstone="literal:null")[3] == (b"rake", None)


def test_what_the_tool_says_at_the_end_is_passed_over_and_said() -> None:
    with open_one(FIXTURES / "console-consumer-3.7-print-key-only.txt") as dump:
        assert any("3 lines at the end passed over" in note for note in dump.notes)


def test_so_it_is_behind_what_a_terminal_shows_of_ctrl_c(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.txt", "a\tb\nc\td\n^CProcessed a total of 2 messages\n")
    assert pairs(path) == [(b"a", b"b"), (b"c", b"d")]


def test_so_it_is_behind_json(tmp_path: Path) -> None:
    record = '{"key":"a","value":"b","offset":1}\n'
    path = lines(tmp_path / "t.jsonl", record + "Processed a total of 1 messages\n\n")
    assert pairs(path) == [(b"a", b"b")]
    path = lines(tmp_path / "u.jsonl", record + "% Reached end of topic t [0] at offset 2\n")
    assert pairs(path) == [(b"a", b"b")]


def test_a_line_of_kcat_within_the_quotes_of_the_last_record_stays(tmp_path: Path) -> None:
    value = "it ended\n% Reached end of topic t [0] at offset 1"
    path = lines(tmp_path / "t.csv", f'offset,key,value\n"1","a","{value}"\n')
    assert pairs(path) == [(b"a", value.encode())]


def test_what_looks_like_a_stack_trace_in_the_last_record_stays(tmp_path: Path) -> None:
    text = 'key,value,offset\na,"it failed\nCaused by: java.io.IOException: x"\n'
    with pytest.raises(InputError, match="2 columns where 3"):
        pairs(lines(tmp_path / "t.csv", text))
    text = 'key,offset,value\na,1,"it failed\nCaused by: java.io.IOException: x"\n'
    assert pairs(lines(tmp_path / "t.csv", text)) == [(b"a", b"it failed\nCaused by: java.io.IOException: x")]


def test_a_file_of_nothing_else_is_not_blamed_on_its_first_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no records, only messages of a tool"):
        open_one(lines(tmp_path / "t.txt", "Processed a total of 0 messages\n"))


@pytest.mark.parametrize("text", ["a:b c\nd:e f\n", "t,0,1,k,v\nt,0,2,k,v\n", '{}: true\n{"a":1}: null\n'])
def test_other_text_is_refused_with_the_options_to_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="no delimiter between key and value is known") as caught:
        open_one(lines(tmp_path / "t.txt", text))
    assert "--columns NAME,... --delimiter TEXT" in str(caught.value.hint)


def test_a_csv_of_values_is_called_what_it_is(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.csv", '"name","title","salary"\n"a","b","1.5"\n')
    with pytest.raises(InputError, match="CSV with the header line name, title, salary"):
        open_one(path)


def test_copied_lines_read_the_same_again(tmp_path: Path) -> None:
    from dump_pipeline import copied

    path = FIXTURES / "console-consumer-3.7-print-key-only.txt"
    with open_one(path) as dump:
        rows = index_all(dump)[0].to_pylist()
        (tmp_path / "t.txt").write_bytes(copied(dump, rows[2:]))
    assert pairs(tmp_path / "t.txt") == pairs(path)[2:]


def test_events_in_such_text_are_named() -> None:
    with open_one(FIXTURES / "debezium-2-watch-topic-k.txt") as dump:
        assert any("--cdc debezium" in note for note in dump.notes)
    with open_one(FIXTURES / "debezium-2-watch-topic-k.txt", cdc="debezium") as dump:
        assert index_all(dump)[0]["is_tombstone"].to_pylist() == [False, False, True, True]


@pytest.mark.parametrize("name", ["orders.avro", "orders.avro.gz.parquet", "Orders.AVRO"])
def test_a_file_that_its_name_calls_avro_or_parquet_is_not_taken_for_text(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"by its name an? \w+ file, but it does not begin like one"):
        pairs(lines(tmp_path / name, "spade\tbent\nrake\tnew\n"))


def test_a_damaged_binary_file_is_not_taken_for_text(tmp_path: Path) -> None:
    """What is left of an Avro file whose beginning is gone: one line with a tab in it, and no line end."""
    (tmp_path / "orders").write_bytes(b'g"}, "fields": [{"name":\t"key"}]}\x00tests use one\x00\x1f')
    with pytest.raises(InputError, match="binary keys or values in lines of text"):
        pairs(tmp_path / "orders")


def refusal(path: Path, text: str, **options: Any) -> InputError:
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        pairs(path, **options)
    return caught.value


@pytest.mark.parametrize("delimiter", [None, ","])
def test_keys_that_may_be_cut_at_a_delimiter_are_noted(delimiter: str | None, tmp_path: Path) -> None:
    path = tmp_path / "orders.txt"

    def is_noted(text: str) -> bool:
        path.write_text(text)
        with open_one(path, columns=("partition", "offset", "key", "value"), delimiter=delimiter) as dump:
            return any("',' stands in values, too" in note for note in dump.notes)

    assert is_noted("0,3,k,1,v\n0,4,k,2,w\n")
    assert not is_noted('0,3,k,{"a":1,"b":2}\n0,4,k,null\n')
    assert not is_noted("0,3,k,v\n0,4,k,w\n")


@pytest.mark.parametrize(
    ("lines", "note"),
    [
        (["b'k1'\tb'v'", "b'k2'\tNone"], "keys such as \"b'k1'\", as Python prints bytes, are taken as text"),
        (["k1\tb'v'", "k2\tb''"], "values such as \"b''\", as Python prints bytes, are taken as text"),
        (["b3JkZXItMQ==\tdjE=", "b3JkZXItMg==\tdjI=", "b3JkZXItMw==\t"], "every key looks like base64"),
    ],
)
def test_keys_and_values_that_stand_for_bytes_are_noted(lines: list[str], note: str, tmp_path: Path) -> None:
    (path := tmp_path / "orders.txt").write_text("".join(f"{line}\n" for line in lines))
    for options in ({}, {"columns": ("key", "value")}):
        with open_one(path, **options) as dump:
            assert any(note in text for text in dump.notes)


def test_headers_of_console_consumers_that_may_be_cut_are_noted(tmp_path: Path) -> None:
    (path := tmp_path / "orders.txt").write_text("Offset:3\tNO_HEADERS\tk\tv\nOffset:4\th:a\tb\tk\tv\n")
    with open_one(path) as dump:
        assert any(r"'\t' stands in values, too" in note for note in dump.notes)


def test_a_delimiter_that_another_may_be_is_asked_about(tmp_path: Path) -> None:
    text = "7\tSmith, John\n8\tMiller, Ann\n7\tBrown, John\n"
    error = refusal(tmp_path / "t.txt", text, columns=("key", "value"))
    assert "--delimiter ',' or --delimiter '\\t'" in str(error.hint)
    assert pairs(tmp_path / "t.txt", columns=("key", "value"), delimiter="\t")[0] == (b"7", b"Smith, John")


def test_keys_that_hold_the_delimiter_are_not_cut(tmp_path: Path) -> None:
    text = "".join(f'order-{n}:{{"a":1}}\n' for n in range(30)) + 'cfg:a:{"a":1}\ncfg:b:{"b":2}\n'
    assert "no delimiter between key and value is known" in refusal(tmp_path / "t.txt", text).message


def test_nor_are_they_far_behind_what_is_looked_at_first(tmp_path: Path) -> None:
    text = "".join(f'order-{n}:{{"a":1}}\n' for n in range(1000)) + 'cfg:a:{"a":1}\n'
    error = refusal(path := tmp_path / "t.txt", text)
    assert error.message.startswith(f"{path}:1001: ':' stands twice before the value")
    assert "--columns" not in str(error.hint)


def test_cells_in_quotes_are_seen_before_cr_lf(tmp_path: Path) -> None:
    text = 'o,0,0,a,"x, y"\r\n'
    columns = ("topic", "partition", "offset", "key", "value")
    assert "cells in quotes" in refusal(tmp_path / "t.csv", text, columns=columns, delimiter=",").message


def test_blank_lines_between_records_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("t\t0\t0\tk\tline\n\nt\t0\t1\tj\tx\n\n\n")
    remarks = judged(path, columns=("topic", "partition", "offset", "key", "value"))
    assert any("1 blank line between records left out" in remark for remark in remarks)
