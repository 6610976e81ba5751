"""Lines of kafka-console-consumer that do not agree: none of them is taken for something else."""

import re
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


def pairs(path: Path, text: str, **options: object) -> list[tuple[bytes | None, bytes | None]]:
    path.write_text(text)
    with open_one(path, **options) as dump:
        (split,) = dump.splits(1 << 40)
        records = LAYOUTS[dump.files[0].layout].records(dump.files[0], split)
        return [(record.key, record.value) for _, _, record in records]


AMBIGUOUS = {
    "a key with a colon, and a value with a tab": (
        f"{PLACE}0\tuser:1\tDE\tAnn\n{PLACE}1\tuser:2\tDE\tBob\n",
        {
            "timestamp,partition,offset,key,value": [(b"user:1", b"DE\tAnn"), (b"user:2", b"DE\tBob")],
            "timestamp,partition,offset,headers,key,value": [(b"DE", b"Ann"), (b"DE", b"Bob")],
        },
    ),
    "a key with a colon, or headers of which a value has a comma": (
        f"{PLACE}0\tid:7,8\tk\tone\n{PLACE}1\tid:7,8\tk\ttwo\n",
        {
            "timestamp,partition,offset,key,value": [(b"id:7,8", b"k\tone"), (b"id:7,8", b"k\ttwo")],
            "timestamp,partition,offset,headers,key,value": [(b"k", b"one"), (b"k", b"two")],
        },
    ),
    "headers, or a key": (
        f"{PLACE}0\tapp:billing\tone\n{PLACE}1\tapp:billing\ttwo\n",
        {"timestamp,partition,offset,key,value": [(b"app:billing", b"one"), (b"app:billing", b"two")]},
    ),
    "the end of a value, or a partition": (
        "CreateTime:1\tk\tword\t5\nCreateTime:2\tk\tword\t6\n",
        {
            "timestamp,key,value": [(b"k", b"word\t5"), (b"k", b"word\t6")],
            "timestamp,key,value,partition": [(b"k", b"word"), (b"k", b"word")],
        },
    ),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_pieces_that_may_be_several_things_are_asked_about(tmp_path: Path, name: str) -> None:
    text, answers = AMBIGUOUS[name]
    error = refusal(tmp_path / "t.txt", text)
    assert "nobody can tell" in error.message
    assert re.findall(r"--columns ([a-z,]+)", str(error.hint)) == list(answers)
    for columns, expected in answers.items():
        assert pairs(tmp_path / "t.txt", text, columns=tuple(columns.split(","))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'{PLACE}0\t{{"id":1}}\tone\n', [(b'{"id":1}', b"one")]),
        (f'{PLACE}0\t{{"id":1}}\tone\ttwo\n', [(b'{"id":1}', b"one\ttwo")]),
        (f"{PLACE}0\tNO_HEADERS\tk\tone\ttwo\n", [(b"k", b"one\ttwo")]),
        (f"{PLACE}0\tNO_HEADERS\tk\tone\n{PLACE}1\tid:7,:NULL\tk\ttwo\n", [(b"k", b"one"), (b"k", b"two")]),
        (f"{PLACE}0\tNO_HEADERS\tk\tone\n{PLACE}1\tid:7,8\tk\ttwo\n", [(b"k", b"one"), (b"k", b"two")]),
        (f"{PLACE}0\tk\tone\n", [(b"k", b"one")]),
    ],
)
def test_pieces_that_can_be_one_thing_only_are_not(
    tmp_path: Path, text: str, expected: list[tuple[bytes, bytes]]
) -> None:
    assert pairs(tmp_path / "t.txt", text) == expected


def test_commas_between_columns_and_headers_are_refused(tmp_path: Path) -> None:
    """Of a record with two headers the second one would be the key."""
    lines = "Offset:0,NO_HEADERS,k,one\nOffset:1,a:1,b:2,k,two\nOffset:2,a:1,k,three\n"
    error = refusal(tmp_path / "t.txt", lines)
    assert "headers from one another, too" in error.message
    assert pairs(tmp_path / "t.txt", lines.replace(",", "|").replace("1|b", "1,b")) == [
        (b"k", b"one"),
        (b"k", b"two"),
        (b"k", b"three"),
    ]


def test_the_separator_is_found_by_the_labels_where_columns_are_named(tmp_path: Path) -> None:
    text = f"{PLACE}0\tuser:1\tDE|Ann\n".replace("\t", "|")
    columns = ("timestamp", "partition", "offset", "key", "value")
    assert pairs(tmp_path / "t.txt", text, columns=columns) == [(b"user:1", b"DE|Ann")]


@pytest.mark.parametrize("separator", [" - ", " | ", " : ", "=>", "||", ", ", "-", "\x01", "\t\t"])
def test_two_labels_have_the_separator_between_them(tmp_path: Path, separator: str) -> None:
    lines = [f"{PLACE}{n}\tk{n}\tv{n}\n".replace("\t", separator) for n in range(2)]
    assert pairs(tmp_path / "t.txt", "".join(lines)) == [(b"k0", b"v0"), (b"k1", b"v1")]
    with_headers = [f"CreateTime:{n}\tNO_HEADERS\tk{n}\tv\n".replace("\t", separator) for n in range(2)]
    assert pairs(tmp_path / "h.txt", "".join(with_headers)) == [(b"k0", b"v"), (b"k1", b"v")]


def with_keys(separator: str, *keys: str) -> str:
    return "".join(f"CreateTime:{n}{separator}{key}{separator}v\n" for n, key in enumerate(keys))


@pytest.mark.parametrize("separator", [" - ", " | ", " : ", ", "])
def test_several_signs_behind_the_only_label_are_asked_about(tmp_path: Path, separator: str) -> None:
    for keys in (("k0", "k1"), ("+491", "+492"), ("/a", "/b"), ("#x", "#y")):
        text = with_keys(separator, *keys)
        error = refusal(tmp_path / "t.txt", text)
        assert "nobody can tell" in error.message
        offered = re.findall("--delimiter '([^']+)'", str(error.hint))
        assert separator in offered
        for option in offered:
            pieces = [key for key, _ in pairs(tmp_path / "t.txt", text, delimiter=option)]
            assert len(set(pieces)) == 2, option
        assert pairs(tmp_path / "t.txt", text, delimiter=separator) == [(key.encode(), b"v") for key in keys]


@pytest.mark.parametrize(
    ("separator", "key"),
    [
        *((sign, "k") for sign in "\t-| ;"),
        ("||", "k"),
        ("\t\t", "k"),
        ("##", "k"),
        (",", "+49"),
        ("\t", "-5"),
        ("\t", "/path"),
        ("|", '{"id":'),
    ],
)
def test_signs_that_can_be_one_separator_alone_are_taken_for_it(
    tmp_path: Path, separator: str, key: str
) -> None:
    keys = [f"{key}{n}}}" if key.startswith("{") else f"{key}{n}" for n in range(2)]
    text = with_keys(separator, *keys)
    assert pairs(tmp_path / "t.txt", text) == [(key.encode(), b"v") for key in keys]


@pytest.mark.parametrize("separator", [" - ", " | ", "||", "--"])
def test_a_part_of_the_separator_is_no_key_where_keys_were_not_printed(
    tmp_path: Path, separator: str
) -> None:
    """Every record had the key ``-``, or an empty one, and all but the last went."""
    text = f"Offset:1{separator}a\nOffset:2{separator}b\n"
    error = refusal(tmp_path / "t.txt", text)
    assert f"--delimiter '{separator}'" in (error.hint or "")
    assert "printed no keys" in str(refusal(tmp_path / "t.txt", text, delimiter=separator))


def test_letters_that_all_columns_begin_with_may_be_of_the_separator(tmp_path: Path) -> None:
    text = with_keys("<SEP>", "k1", "m2").replace("SEP>v", "SEP>null", 1)
    error = refusal(tmp_path / "t.txt", text)
    assert "--delimiter '<SEP>'" in str(error.hint)
    assert pairs(tmp_path / "t.txt", text, delimiter="<SEP>") == [(b"k1", None), (b"m2", b"v")]


def test_colons_that_are_in_labels_too_get_a_hint_that_reads_them(tmp_path: Path) -> None:
    for labels, columns in ((f"{PLACE}7", ",timestamp,,partition,,offset"), ("CreateTime:7", ",timestamp")):
        text = f"{labels}\tk\ta:b\n".replace("\t", ":")
        error = refusal(tmp_path / "t.txt", text)
        assert f"--columns {columns},key,value --delimiter ':'" in str(error.hint)
        named = tuple(f"{columns},key,value".split(","))
        assert pairs(tmp_path / "t.txt", text, columns=named, delimiter=":") == [(b"k", b"a:b")]


def test_a_separator_that_a_key_may_hold_is_asked_about_unless_json_follows(tmp_path: Path) -> None:
    text = "CreateTime:1-12-ab-one\nCreateTime:2-12-cd-two\n"
    error = refusal(tmp_path / "t.txt", text)
    assert "stands twice before the value" in error.message
    assert "only if no key holds one" in str(error.hint)
    assert pairs(tmp_path / "t.txt", text, delimiter="-") == [(b"12", b"ab-one"), (b"12", b"cd-two")]
    json = 'CreateTime:1,k,{"a":1,"b":2}\n'
    assert pairs(tmp_path / "t.txt", json) == [(b"k", b'{"a":1,"b":2}')]


@pytest.mark.parametrize("value", ["Delivery: tomorrow", "Epoch:early", "Offset:5", "CreateTime:1"])
def test_a_value_may_look_like_a_label(tmp_path: Path, value: str) -> None:
    text = f"k1\t{value}\nk2\t{value}\n"
    assert pairs(tmp_path / "t.txt", text) == [(b"k1", value.encode()), (b"k2", value.encode())]


def test_lines_that_share_no_separator_are_refused(tmp_path: Path) -> None:
    lines = "CreateTime:1700000000000\tk1\tv1\nCreateTime:1700000000001|k1|v1\n"
    assert ":2: " in refusal(tmp_path / "d.txt", lines).message


def test_dates_behind_the_labels_are_no_times_and_keys(tmp_path: Path) -> None:
    text = "CreateTime:2024-07-{}|Partition:0|Offset:{}|Headers:NO_HEADERS|Key:{}|Value:v\n"
    lines = "".join(text.format(f"10 17:35:16.68{n}", n, n) for n in range(3))
    assert "a date after a label of kafka-console-consumer" in refusal(tmp_path / "t.txt", lines).message


@pytest.mark.parametrize("separator", ["\t", "|"])
@pytest.mark.parametrize("key_id", ["", "7"])
def test_ids_of_schemas_are_no_part_of_values(separator: str, key_id: str, tmp_path: Path) -> None:
    behind_key = ["7"] if key_id else []
    rows = [
        ["k1", *behind_key, '{"a":1}', "8"],
        ["k2", *behind_key, '"text"', "8"],
        ["k1", *behind_key, "null"],
    ]
    lines = [
        f"Partition:0{separator}Offset:{n}{separator}" + separator.join(row) for n, row in enumerate(rows)
    ]
    text = "\n".join(lines) + "\n"
    error = refusal(path := tmp_path / "t.txt", text, delimiter=separator)
    assert "as print.schema.ids prints them" in error.message
    named = pairs(path, text, delimiter=separator, columns=("partition", "offset", "key", "value"))
    assert named[0][1] == separator.join(rows[0][1:]).encode()


GUID = "1f0b3b6e-8a3b-4a52-9b0d-d8b1b8a1f111"


@pytest.mark.parametrize(
    "rows",
    [
        ["k1\t7\t42\t8", "k2\t7\t43\t8", "k1\t7\tnull\tnull"],
        ["k1\tnull\t8", 'k2\t{"a":1}\t8', "k2\t-1.5\t8"],
        [f'k1\t{GUID}\t{{"a":1}}\t{GUID}', f"k1\t{GUID}\tnull\tnull"],
    ],
)
def test_ids_are_told_behind_all_values_of_json(rows: list[str], tmp_path: Path) -> None:
    text = "".join(f"Partition:0\tOffset:{number}\t{row}\n" for number, row in enumerate(rows))
    assert "as print.schema.ids prints them" in refusal(tmp_path / "t.txt", text).message


@pytest.mark.parametrize("value", ['{"a":1}', "1|7", "a|7", "b|null", "1|null"])
def test_numbers_behind_what_is_no_json_are_of_the_value(value: str, tmp_path: Path) -> None:
    text = f"Partition:0|Offset:0|k|{value}\n"
    assert pairs(tmp_path / "t.txt", text, delimiter="|") == [(b"k", value.encode())]


@pytest.mark.parametrize(
    ("labels", "separator"),
    [(PLACE, "\t"), ("Offset:", "\t"), ("Partition:0|Offset:", "|"), ("NO_TIMESTAMP\tOffset:", "\t")],
)
@pytest.mark.parametrize("between", ["\x1e", "|||"])
def test_records_that_no_line_end_divides_are_not_one_record(
    labels: str, separator: str, between: str, tmp_path: Path
) -> None:
    """As ``line.separator`` has it: the first record's value held all others."""
    records = [f"{labels}{offset}{separator}k{offset}{separator}v" for offset in range(3)]
    error = refusal(tmp_path / "t.txt", between.join([*records, ""]))
    assert "a record begins within the first line" in error.message
    text = "\n".join([*records, f"{labels}3{separator}k{separator}Offset:1", ""])
    assert len(pairs(tmp_path / "t.txt", text)) == 4


@pytest.mark.parametrize("role", ["keys", "values"])
def test_addresses_of_java_are_no_data(role: str, tmp_path: Path) -> None:
    """As a ByteArrayDeserializer has the console consumer print them: no key superseded another."""
    cells = ["[B@1a2b\tnull", "[B@3c4d\tv"] if role == "keys" else ["k\tnull", "k\t[B@3c4d"]
    for place in (PLACE + "{}\t", ""):  # a line that begins with an address is no JSON
        text = "".join(f"{place.format(n)}{pair}\n" for n, pair in enumerate(cells))
        error = refusal(tmp_path / "t.txt", text)
        assert f"{role} such as [B@" in error.message
        assert error.message.endswith("are addresses of Java objects: the data were not exported")
