"""Stores that fail: each failure in a sentence that names the address, and none of the store's own words."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from free_ports import free_port
from kcompact.dumps.files import stored
from kcompact.dumps.files.marks import is_of_runs
from kcompact.dumps.files.stored import _pattern
from kcompact.dumps.output.stored_output import StoredOutput, check_prefixes
from kcompact.errors import InputError, KcompactError, OutputError, StoreError
from kcompact.storage import endpoints
from kcompact.storage.file_systems import located
from kcompact.storage.object_reading import fetch
from kcompact.storage.object_stores import (
    StoredObject,
    address_hint,
    is_address,
    list_objects,
    refuse_other_address,
    write,
)
from kcompact.storage.store_errors import explained

CONTENT = b"0123456789" * 100
SECRET = "AKIASECRETSECRET"  # noqa: S105  of no use anywhere


@contextmanager
def answering(monkeypatch: pytest.MonkeyPatch, status: int, times: int) -> Iterator[list[str]]:
    """An S3 server that answers so many requests with an error, then with an object; what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            asked.append(f"{self.command} {self.path}")
            if len(asked) <= times:
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            ranged = self.headers.get("Range")
            first, last = map(int, ranged[6:].split("-")) if ranged else (0, len(CONTENT) - 1)
            body = CONTENT[first : last + 1]
            self.send_response(206 if ranged else 200)
            self.send_header("ETag", '"one"')
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET = do_PUT = do_POST = _answer  # noqa: N815  as http.server asks for them

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    values = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": SECRET,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    try:
        yield asked
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_a_store_that_is_busy_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(monkeypatch, 503, times=3):
        stamp = fetch("s3://bucket/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert (stamp.size, stamp.version) == (len(CONTENT), '"one"')


@pytest.mark.slow
def test_an_object_is_brought_with_two_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(monkeypatch, 503, times=0) as asked:
        fetch("s3://bucket/x", tmp_path / "x")
    assert asked == ["HEAD /bucket/x", "GET /bucket/x"]


@pytest.mark.slow
def test_of_a_range_only_its_bytes_are_brought_to_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(monkeypatch, 503, times=0):
        fetch("s3://bucket/x", tmp_path / "x", 100, 205)
    assert (tmp_path / "x").read_bytes() == b"\0" * 100 + CONTENT[100:205] + b"\0" * (len(CONTENT) - 205)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["/dev/full", "/no such folder/x"])
def test_a_disk_without_room_is_said_in_a_sentence(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        answering(monkeypatch, 503, times=0),
        pytest.raises(OutputError, match="an object cannot be copied to this disk"),
    ):
        fetch("s3://bucket/x", Path(target))


@pytest.mark.everyday(1)
@pytest.mark.parametrize("status", [401, 403])
def test_credentials_that_are_refused_are_not_repeated(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(monkeypatch, status, times=99):
        for attempt in (
            lambda: fetch("s3://bucket/x", tmp_path / "x"),
            lambda: list_objects("s3://bucket/prefix/"),
            lambda: write("s3://bucket/x", b"content"),
        ):
            with pytest.raises(KcompactError, match=r"s3://bucket/.*refuses these credentials") as caught:
                attempt()
            assert SECRET not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "AWS Error NO_SUCH_BUCKET during CreateMultipartUpload operation: (Request ID: x)",
            "no such bucket",
        ),
        ("AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 7", "cannot be reached"),
        ("Empty path component in path bucket/a//b", "a name with // in it"),
        ("AWS Error SLOW_DOWN during GetObject operation", "does not answer"),
        (f"AWS Error TEAPOT during GetObject: {SECRET}", r"cannot serve a request \(TEAPOT\)"),
    ],
)
def test_errors_of_a_store_are_said_in_words_of_ours(text: str, words: str) -> None:
    with (
        pytest.raises(OutputError, match=f"s3://bucket/x: .*{words}") as caught,
        explained("s3://bucket/x", OutputError),
    ):
        raise OSError(text)
    assert SECRET not in str(caught.value)


def test_an_address_without_bucket_is_refused() -> None:
    with pytest.raises(InputError, match="names no bucket"):
        list_objects("s3:///x")


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("s3://b/x", True),
        ("hdfs://h/x", True),
        ("abfss://c@a/x", True),
        ("s3:/b", False),
        ("http://x", False),
    ],
)
def test_addresses_are_told_from_paths(path: str, is_one: bool) -> None:
    assert is_address(path) is is_one


def test_a_glob_stays_within_a_folder_unless_it_says_any_depth() -> None:
    import re

    def matches(glob: str, address: str) -> bool:
        return re.fullmatch(_pattern(glob), address) is not None

    assert matches("s3://b/in/*.json", "s3://b/in/x.json")
    assert not matches("s3://b/in/*.json", "s3://b/in/deep/x.json")
    assert matches("s3://b/in/**/*.json", "s3://b/in/deep/er/x.json")
    assert matches("s3://b/in/part-[0-9].json", "s3://b/in/part-7.json")
    assert not matches("s3://b/in/part-?.json", "s3://b/in/part-77.json")
    assert matches("s3://b/in/part-[!0].json", "s3://b/in/part-7.json")
    assert not matches("s3://b/in/part-[!0].json", "s3://b/in/part-0.json")
    assert not matches("s3://b/in[!0]a.json", "s3://b/in/a.json")
    assert not matches(r"s3://b/in/part-[\d].json", "s3://b/in/part-7.json")
    assert not matches("s3://b/in/part-[9-0].json", "s3://b/in/part-7.json")
    assert matches("s3://b/in/part-[]7].json", "s3://b/in/part-7.json")


@pytest.mark.parametrize(
    ("argument", "names"),
    [
        ("s3://b/in/a[1].jsonl", ["s3://b/in/a[1].jsonl"]),
        ("s3://b/in/a[0-9].jsonl", ["s3://b/in/a1.jsonl"]),
        ("s3://b/day?/", ["s3://b/day?/x.jsonl"]),
    ],
)
def test_an_object_or_prefix_is_named_by_its_own_wildcards_first(
    argument: str, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = ["s3://b/in/a1.jsonl", "s3://b/in/a[1].jsonl", "s3://b/day1/x.jsonl", "s3://b/day?/x.jsonl"]
    listed = [StoredObject(address, 1) for address in there]
    monkeypatch.setattr(
        stored, "list_objects", lambda root: [entry for entry in listed if entry.address.startswith(root)]
    )
    stored.forget_listings()
    assert stored.stored_files(argument).files == names


def test_a_pattern_of_prefixes_says_how_to_name_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "list_objects", lambda _root: [StoredObject("s3://b/day1/x.jsonl", 1)])
    stored.forget_listings()
    with pytest.raises(InputError) as caught:
        stored.stored_files("s3://b/day*/")
    assert "'s3://b/day*/**'" in str(caught.value.hint)
    assert stored.stored_files("s3://b/day*/**").files == ["s3://b/day1/x.jsonl"]


def listing_of(there: list[str], argument: str, monkeypatch: pytest.MonkeyPatch) -> stored.Listing:
    listed = [StoredObject(address, 1) for address in there]
    monkeypatch.setattr(
        stored, "list_objects", lambda root: [entry for entry in listed if entry.address.startswith(root)]
    )
    stored.forget_listings()
    return stored.stored_files(argument)


def test_topics_with_odd_names_are_read_and_hidden_ones_told(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = ["orders", "_committed_x", "_started_1", "_SUCCESS", "_metadata", "_logs", ".x"]
    marks = ["_SUCCESS", "_temporary/x-0.gz", ".x.crc", "_committed_1"]
    listing = listing_of(
        [f"s3://b/in/{name}" for name in [*(f"{topic}/{topic}-0-0.gz" for topic in topics), *marks]],
        "s3://b/in/",
        monkeypatch,
    )
    assert listing.files == [f"s3://b/in/{topic}/{topic}-0-0.gz" for topic in topics[:-2]]
    assert listing.passed_over == ["s3://b/in/_logs", "s3://b/in/.x"]


def test_a_prefix_with_hidden_objects_alone_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no object here is read without being named") as caught:
        listing_of(["s3://b/in/.x/x-0-0.gz"], "s3://b/in/", monkeypatch)
    assert str(caught.value.hint).endswith("name it, as s3://b/in/.x")
    named = listing_of(["s3://b/in/.x/x-0-0.gz"], "s3://b/in/.x", monkeypatch)
    assert named.files == ["s3://b/in/.x/x-0-0.gz"]


def test_an_object_beside_those_of_the_manifest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    part, old = (f"s3://b/out/part-000000-{run}-abcdef.jsonl" for run in ("abcdefgh", "bcdefghi"))
    monkeypatch.setattr(stored, "manifest_parts", lambda _prefix: {part: 1})
    names = ["s3://b/out/_kcompact.json", "s3://b/out/_SUCCESS", old, part, "s3://b/out/new.jsonl"]
    listing = listing_of(names, "s3://b/out/", monkeypatch)
    assert listing.files == [part]
    assert listing.notes == [
        "s3://b/out/new.jsonl: left out, as kcompact's manifest beside it does not name it"
    ]


@pytest.mark.parametrize(
    ("written", "read", "meets"),
    [
        ("s3://b/out/", "s3://b/ou*/x.jsonl", True),
        ("s3://b/out/", "s3://b/*/out/**", True),
        ("s3://b/out/", "s3://b/out*.jsonl", False),
        ("s3://b/out/", "s3://b/out", True),
        ("s3://b/out/", "s3://b/out/part-*.jsonl", True),
        ("s3://b/out/", "s3://b/in/p*/x.jsonl", False),
        ("s3://b/out/", "s3://b/out2/", False),
        ("s3://b/out/", "s3://other/*", False),
        (
            "hdfs:///out/",
            "hdfs://host:8020/out/x.jsonl",
            True,
        ),  # the name node of Hadoop's settings may be this
        ("hdfs://host:8020/out/", "hdfs:///out", True),
        ("hdfs:///out/", "hdfs:///in/", False),
        ("hdfs://a/out/", "hdfs://b/out/", False),
    ],
)
def test_an_output_that_a_pattern_may_reach_is_refused(written: str, read: str, *, meets: bool) -> None:
    if not meets:
        check_prefixes(written, None, [read])
        return
    with pytest.raises(OutputError, match="overlaps"):
        check_prefixes(written, None, [read])


@pytest.mark.parametrize("report", ["s3://b/out/", "s3://b/out/report/", "s3://b/"])
def test_a_report_within_the_output_is_refused(report: str) -> None:
    with pytest.raises(OutputError, match=r"--report .* overlaps s3://b/out/, which is written, too"):
        check_prefixes("s3://b/out/", report, [])


@pytest.mark.parametrize("authority", ["c", "c@a.dfs.core.windows.net", "c@A.blob.core.windows.net", "c@a"])
def test_an_output_meets_an_input_of_azure_however_the_account_is_named(
    authority: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING", raising=False)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "a")
    with pytest.raises(OutputError, match=f"overlaps abfss://{authority}/out/x.jsonl, which is read"):
        check_prefixes("abfss://c/out/", None, [f"abfss://{authority}/out/x.jsonl"])
    check_prefixes("abfss://c/out/", None, ["abfss://c@other.dfs.core.windows.net/out/x.jsonl"])


@pytest.mark.parametrize("address", ["s3://b/./out/", "s3://b/in/../out/", "s3://b/out/./"])
def test_an_address_with_dots_as_parts_is_refused(address: str) -> None:
    with pytest.raises(OutputError, match=r"a name with \. or \.\. as a part"):
        check_prefixes(address, None, [])
    with pytest.raises(InputError, match=r"a name with \. or \.\. as a part"):
        located(address)


def test_only_names_that_runs_give_are_known() -> None:
    output = StoredOutput("s3://b/out/", None, "abcdefgh")
    known = ["_SUCCESS", "_kcompact.json", "_unfinished-abcdefgh"]
    known += ["_work-abcdefgh/removed-000000", "_work-abcdefgh/gaps-000012"]
    known += [output.part_name("000001", "abcdef", ".jsonl.gz")]
    foreign = ["_work-notes/precious.txt", "_unfinished-thesis.docx", "part-000001-my-data.parquet"]
    assert all(map(is_of_runs, known))
    assert not any(map(is_of_runs, foreign))


def test_an_address_with_one_slash_is_no_folder_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert address_hint("s3:/b/in/") == "write it with two slashes: s3://b/in/"
    assert address_hint("hdfs:/in/") == "write it with three slashes: hdfs:///in/"
    with pytest.raises(OutputError, match="-o s3:/b/out/: an address that kcompact does not know"):
        refuse_other_address("-o", "s3:/b/out/")
    assert address_hint("s3://b/in/") is None
    assert address_hint("/s3:/b") is None


def test_what_a_store_does_not_do_is_no_fault_of_the_object() -> None:
    with pytest.raises(InputError) as caught, explained("s3://bucket/x"):
        raise FileNotFoundError
    assert not isinstance(caught.value, StoreError)
    for text in ("AWS Error SLOW_DOWN during GetObject operation", "AWS Error EXPIRED_TOKEN", "[403]"):
        with pytest.raises(StoreError), explained("s3://bucket/x"):
            raise OSError(text)


PROFILES = """\
[default]
endpoint_url = http://default.test
[profile own]
region = eu-west-1
endpoint_url = http://own.test:9000
[profile services]
endpoint_url = http://own.test:9000
services = at-home
[profile elsewhere]
services = of-others
[services at-home]
s3 =
  endpoint_url = http://s3.test:9000
dynamodb =
  endpoint_url = http://dynamodb.test
[services of-others]
dynamodb =
  endpoint_url = http://dynamodb.test
"""


def settings_in(config: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which alone Amazon's tools find their settings."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    return config


@pytest.mark.parametrize(
    ("variables", "endpoint"),
    [
        ({}, "http://default.test"),
        ({"AWS_PROFILE": "own"}, "http://own.test:9000"),
        ({"AWS_PROFILE": "services"}, "http://s3.test:9000"),
        ({"AWS_PROFILE": "elsewhere"}, ""),
        ({"AWS_PROFILE": "unknown"}, ""),
        ({"AWS_PROFILE": "own", "AWS_ENDPOINT_URL": "http://variable.test"}, "http://variable.test"),
        ({"AWS_PROFILE": "own", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, ""),
    ],
)
def test_the_endpoint_of_s3_is_that_of_the_profile_in_use(
    variables: dict[str, str], endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings_in(tmp_path / "config", monkeypatch).write_text(PROFILES)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert endpoints.s3_endpoint() == endpoint


@pytest.mark.parametrize("content", [b"", b"endpoint_url = x", b"[default]\nendpoint_url = \xff", None])
def test_settings_that_cannot_be_read_name_no_endpoint(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings_in(tmp_path / "config", monkeypatch)
    if content is not None:
        config.write_bytes(content)
    assert not endpoints.s3_endpoint()


@pytest.mark.slow
def test_an_endpoint_at_which_nobody_listens_is_said_before_its_client_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setattr(endpoints, "_SECONDS", 0.1)
    with pytest.raises(InputError, match="the store cannot be reached"):
        list_objects("s3://bucket/x.jsonl")
