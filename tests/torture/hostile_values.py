"""Values that no exporter writes, as they are spelt in JSON, in CSV and in Python."""

DEEPEST = 100_000

NUMBERS = [
    *("0", "-0", "-1", "7", "1.5", "-1e9", "1E400", "1e-400", "NaN", "-Infinity", "1e18", "0.1e1"),
    *(str(2**bits + more) for bits in (31, 32, 53, 63, 64) for more in (-1, 0)),
    *("1234567890", "1700000000000", "253402300800000", "99999999999999999999", "9" * 4_301, "9" * 5_000),
    "0." + "9" * 5_000,
]
TEXTS = [
    *("", " ", "²", "1²", "١٢", "12", "+1", "-1", " 7 ", "1_000", "1e3", "0x10", "1.5", "1.", ".5", "1.²"),
    *(
        "null",
        "NULL",
        "true",
        "NaN",
        "%",
        "b'k'",
        "b'",
        "[6B 31]",
        "[zz]",
        "a=b",
        "a:b;",
        "%%%",
        "NO_HEADERS",
    ),
    *("9" * 30, "9" * 5_000, "-" + "9" * 5_000, "1." + "9" * 5_000, "0" * 5_000, "--5", "²" * 16),
    *("CreateTime:²", "CreateTime:", "CreateTime:" + "9" * 5_000, "LogAppendTime:-1", "CreateTime:1.5"),
    *("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2024-02-30", "2024-01-01T25:00", "20240101"),
    *(
        "[",
        "{",
        "[1",
        '{"a":',
        '["a"]',
        '{"a":[256]}',
        "[[[]]]",
        '[{"key":"k","value":[256]}]',
        "\0",
        "\x1b[31m",
    ),
    *("AA==", "=", "AA=A", "YQ==:YQ==;", "é:é;", "1;", "=;=", ":,:", "Partition:²", "Offset:" + "9" * 5_000),
]
SPELT_TEXTS = [
    '"\\ud800"',
    '"\\udc80"',
    '"a\\udfffb"',
    '"\\u0000"',
    '"\\ud83d\\ude00"',
    '"\xff\xfe"',
    '"\xed\xa0\x80"',
]
SHAPES = [
    *(
        "null",
        "true",
        "false",
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        "[null]",
        "[true]",
        "[1]",
        '["a"]',
        '["a",1]',
        "[1,2,3]",
    ),
    *(
        '["a","b","c"]',
        '[["a"]]',
        '[["a","b","c"]]',
        '[["a",[256]]]',
        '[["a",["b"]]]',
        "[[1,2],3]",
        "[0,1700]",
    ),
    *(
        '{"type":"Buffer"}',
        '{"type":"Buffer","data":null}',
        '{"type":"Buffer","data":5}',
        '{"type":"Buffer","data":{}}',
    ),
    *(
        f'{{"type":"Buffer","data":{data}}}'
        for data in ("[256]", "[-1]", '["a"]', "[null]", "[1.5]", "[[1]]", "[true]")
    ),
    *(
        f'{{"payload":{payload},"isPayloadNull":{null}}}'
        for payload in ("1", "null", '"a"', '{"a":[]}')
        for null in ("0", '"x"')
    ),
    *(
        f'{{"payload":"a","isPayloadNull":false,"rawPayload":{raw}}}'
        for raw in ("5", "true", "[]", "{}", '"%%%"', '"é"', '"a"', "1e400", '"\\ud800"')
    ),
    *(
        '[{"key":1}]',
        '[{"key":null,"value":{}}]',
        '[{"key":"k","value":[256]}]',
        '[{"key":"k","value":["a"]}]',
    ),
    *(
        '[{"key":"k","value":"%%%","encoding":"base64"}]',
        '[{"key":"k","value":{"type":"Buffer","data":["a"]}}]',
    ),
    *(
        '[{"Key":5,"Value":6}]',
        '[{"Key":"%%%","Value":"%%%"}]',
        '[{"Key":"é"}]',
        '[{"Key":null}]',
        '{"k":{"payload":5}}',
    ),
    *(
        '{"\\ud800":"v"}',
        '[{"key":"\\udfff","value":"v"}]',
        '["\\udbff","v"]',
        '{"k":"\\ud800"}',
        '{"k":1e400}',
    ),
    *("[" * depth + "]" * depth for depth in (200, 300, 960, 990, 1_023, 1_025, 5_000, DEEPEST)),
    *('{"a":' * depth + "1" + "}" * depth for depth in (200, 300, 990, 1_025, 5_000)),
    *("{}}", "]", '"', "{", "", ",", "{'a':1}", "undefined", "01", "1.", '"\t"', '"\\x"', '{"a":1,"a":[]}'),
]


def spelt_in_json() -> list[bytes]:
    """All of them as they stand in JSON; some are no JSON at all."""
    texts = ['"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in TEXTS]
    return [text.encode("latin-1", "xmlcharrefreplace") for text in SPELT_TEXTS] + [
        text.encode("utf-8", "surrogatepass") for text in [*NUMBERS, *texts, *SHAPES]
    ]


def spelt_in_cells() -> list[bytes]:
    """All of them as they stand in a cell: bare, and quoted."""
    texts = [text.encode() for text in [*NUMBERS, *TEXTS, *SHAPES]] + [b"\xff\xfe", b"\xed\xa0\x80", b"\xc2"]
    quoted = [b'"' + text.replace(b'"', b'""') + b'"' for text in texts]
    return texts + quoted + [b'"', b'"a', b'a"', b'"a"b', b'""""', b'"\\"', b"\r", b'"\r\n"', b'"\n']
