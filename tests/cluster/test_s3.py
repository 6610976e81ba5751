"""Dumps of an object store, in and out, on one machine."""

import gzip
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import Run
from kcompact.dumps.files.marks import REPORT_FILES
from s3_server import S3
from store_runs import SAMPLE, put_large, put_sample, records_of, run_kcompact

pytestmark = pytest.mark.spark


def test_a_packed_prefix_is_compacted_into_another_as_its_files_would_be(store: S3, tmp_path: Path) -> None:
    put_sample(store, "s3://bucket/in/")
    now = ("--now", "1760030000000")
    here = run_kcompact("compact", SAMPLE, "-o", tmp_path / "o.jsonl", *now, environment={}, folder=tmp_path)
    assert here.returncode == 0, here.stderr

    run = run_kcompact(
        "compact",
        *now,
        "s3://bucket/in/",
        "-o",
        "s3://bucket/out/",
        environment=store.environment,
        folder=tmp_path,
    )

    assert (run.returncode, run.stderr) == (0, "")
    objects = store.objects("s3://bucket/out/")
    assert records_of(objects) == (tmp_path / "o.jsonl").read_bytes()
    named = [part["name"] for part in json.loads(objects.pop("_kcompact.json"))["parts"]]
    assert sorted(objects) == ["_SUCCESS", *named]
    assert all(name.endswith(".jsonl.gz") for name in named)
    report = store.objects("s3://bucket/out.report/")
    assert report["removed-keys.csv"] == (tmp_path / "o.report" / "removed-keys.csv").read_bytes()
    assert report["gaps.csv"] == (tmp_path / "o.report" / "gaps.csv").read_bytes()
    ours, theirs = (json.loads(text) for text in (report["report.json"], _report(tmp_path)))
    assert ours["logs"] == theirs["logs"]
    assert not [text for text in report.values() if b"a-secret" in text or b"a-key-of" in text]


def _report(folder: Path) -> bytes:
    return (folder / "o.report" / "report.json").read_bytes()


def test_a_prefix_that_is_there_is_replaced_only_when_asked_to(store: S3, tmp_path: Path) -> None:
    put_sample(store, "s3://bucket/once/", packed=False)
    line = ("compact", "s3://bucket/once/*.jsonl", "-o", "s3://bucket/twice/", "-q")
    assert run_kcompact(*line, environment=store.environment, folder=tmp_path).returncode == 0
    first = store.objects("s3://bucket/twice/")

    refused = run_kcompact(*line, environment=store.environment, folder=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "s3://bucket/twice/ exists already" in refused.stderr
    assert store.objects("s3://bucket/twice/") == first

    replaced = run_kcompact(
        *line, "--overwrite", "--drop-tombstones", environment=store.environment, folder=tmp_path
    )
    assert replaced.returncode == 0, replaced.stderr
    second = store.objects("s3://bucket/twice/")
    assert len(second) == len(first)
    assert not set(first) & set(second) - {"_SUCCESS", "_kcompact.json"}
    assert len(records_of(second)) < len(records_of(first))

    read_back = run_kcompact(
        "compact",
        "s3://bucket/twice/",
        "-o",
        tmp_path / "b.jsonl",
        environment=store.environment,
        folder=tmp_path,
    )
    assert read_back.returncode == 0, read_back.stderr
    assert (tmp_path / "b.jsonl").read_bytes() == records_of(second)


@pytest.mark.at_length
def test_runs_that_replace_a_prefix_at_once_leave_the_whole_of_one(store: S3, tmp_path: Path) -> None:
    put_sample(store, "s3://bucket/shared/", packed=False)
    line = ("compact", "s3://bucket/shared/", "-o", "s3://bucket/raced/", "--overwrite", "-q")

    def run(*options: str) -> int:
        return run_kcompact(*line, *options, environment=store.environment, folder=tmp_path).returncode

    assert run() == 0
    with ThreadPoolExecutor(3) as threads:
        codes = list(threads.map(run, ["--drop-tombstones", "--null-keys=drop", "--quiet"]))

    assert set(codes) <= {0, 2}
    assert 0 in codes
    objects, report = store.objects("s3://bucket/raced/"), store.objects("s3://bucket/raced.report/")
    named = [part["name"] for part in json.loads(objects["_kcompact.json"])["parts"]]
    assert sorted(objects) == ["_SUCCESS", "_kcompact.json", *named]
    kept = sum(log["kept"] for log in json.loads(report["report.json"])["logs"])
    assert records_of(objects).count(b"\n") == kept
    assert sorted(report) == sorted(REPORT_FILES)


def _put_small(store: S3) -> None:
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    for name, start in {"d": 0, "a": 150, "c": 300, "b": 450}.items():
        store.put(f"s3://bucket/disordered/{name}.jsonl", b"".join(lines[start : start + 150]))


def _put_three_large(store: S3) -> None:
    """A dump that two tasks read, the second one what comes first and last."""
    put_large(store, "s3://bucket/disordered/")
    last = store.get("s3://bucket/disordered/large-1.jsonl")
    first = store.get("s3://bucket/disordered/large-0.jsonl")
    store.remove("s3://bucket/disordered/")
    lines = last.splitlines(keepends=True)
    for name, content in {"a": lines[4000:], "b": [first], "c": lines[:4000]}.items():
        store.put(f"s3://bucket/disordered/{name}.jsonl", b"".join(content))


@pytest.mark.parametrize("options", [(), ("--to", "parquet", "--min-compaction-lag-ms", "1")])
@pytest.mark.parametrize(("put", "parts"), [(_put_small, [0]), (_put_three_large, [0, 1, 2])])
def test_objects_whose_names_are_not_in_the_order_of_offsets_come_out_in_it(
    put: Callable[[S3], None], parts: list[int], options: tuple[str, ...], place: S3, tmp_path: Path
) -> None:
    put(place)

    compact, verify = (
        run_kcompact(*line, "s3://bucket/ordered/", *more, environment=place.environment, folder=tmp_path)
        for *line, more in (
            ("compact", "s3://bucket/disordered/", "-o", options),
            ("verify", "s3://bucket/disordered/", ()),
        )
    )

    assert compact.returncode == 0, compact.stderr
    assert "not in offset order" not in compact.stderr
    assert verify.returncode == 0, verify.stdout
    names = [name for name in place.objects("s3://bucket/ordered/") if name.startswith("part-")]
    assert [int(name[5:11]) for name in names] == parts


def _put_sink_s(store: S3, prefix: str) -> dict[str, list[bytes]]:
    """What Aiven's sink leaves of two partitions in folders by day; the lines that stay, by partition."""
    live = {}
    for partition in (0, 1):
        lines = [
            b'{"key":"k%d","value":"%d","offset":%d,"timestamp":%d,"headers":[]}\n' % (n % 7, partition, n, n)
            for n in range(30)
        ]
        for day in range(3):
            part = b"".join(lines[day * 10 : day * 10 + 10])
            store.put(f"{prefix}2026-11-0{day + 1}/orders-{partition}-{day * 10}.gz", gzip.compress(part))
        live[f"topic=orders/partition={partition}/"] = lines[-7:]
    return live


def test_an_archive_whose_names_tell_the_logs_is_compacted_as_it_is(store: S3, tmp_path: Path) -> None:
    live = _put_sink_s(store, "s3://bucket/sink/")
    place = {"environment": store.environment, "folder": tmp_path}
    for source in ("s3://bucket/sink/", "s3://bucket/sink/**"):
        line = ("compact", source, "-o", "s3://bucket/of-sink/", "--overwrite", "-q")
        assert run_kcompact(*line, **place).returncode == 0

        objects = store.objects("s3://bucket/of-sink/")
        for folder, lines in live.items():
            parts = {name.removeprefix(folder): objects.pop(name) for name in [*objects] if folder in name}
            assert records_of(parts) == b"".join(lines)
        assert set(objects) == {"_SUCCESS", "_kcompact.json"}
    for after in ("s3://bucket/of-sink/", "s3://bucket/of-sink/**"):
        verify = run_kcompact("verify", "s3://bucket/sink/", after, **place)
        assert verify.returncode == 0, verify.stdout

    assert run_kcompact("compact", "s3://bucket/of-sink/", "-o", tmp_path / "d/", **place).returncode == 0
    assert {f"{path.relative_to(tmp_path / 'd').parent}/" for path in (tmp_path / "d").glob("**/*.gz")} == {
        *live
    }


def test_an_archive_that_has_no_offsets_needs_another_format(store: S3, tmp_path: Path) -> None:
    store.put("s3://bucket/counted/orders+0+0000000000.json", b'{"id":1}\n{"id":1}\n')
    run = run_kcompact(
        *("compact", "s3://bucket/counted/", "-o", "s3://bucket/o4/", "--key-field", "id"),
        environment=store.environment,
        folder=tmp_path,
    )
    assert run.returncode == 2
    assert "do not say all of topic, partition and offset" in run.stderr
    assert store.objects("s3://bucket/o4/") == {}


def test_a_run_that_fails_leaves_nothing_on_the_store(store: S3, tmp_path: Path) -> None:
    store.put("s3://bucket/bad/x.jsonl", SAMPLE.read_bytes() + b'{"topic": 7}\n')

    run = run_kcompact(
        "compact",
        "s3://bucket/bad/",
        "-o",
        "s3://bucket/never/",
        environment=store.environment,
        folder=tmp_path,
    )

    assert run.returncode == 2
    assert "s3://bucket/bad/x.jsonl:601" in run.stderr
    assert store.objects("s3://bucket/never/") == {}


@pytest.mark.parametrize(
    "dump_output_words",
    [
        ("s3://no-such-bucket/in/", "s3://bucket/o1/", "there is no such bucket"),
        ("s3://bucket/in-none/", "s3://bucket/o2/", "there is no such object"),
        ("s3://bucket/one/", "s3://no-such-bucket/out/", "there is no such bucket"),
        ("s3://bucket/one/", "s3://bucket/out.jsonl", "end it with a slash"),
        ("s3://bucket/one/", "s3://bucket/one/below/", "overlaps s3://bucket/one/"),
        ("s3://bucket/unfinished/", "s3://bucket/o3/", "an unfinished run wrote this"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    dump_output_words: tuple[str, str, str],
    store: S3,
    monkeypatch: pytest.MonkeyPatch,
    kcompact: Callable[..., Run],
    spark: object,
) -> None:
    dump, output, words = dump_output_words
    del spark  # which is running already, so that none is started
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    store.put("s3://bucket/one/x.jsonl", SAMPLE.read_bytes())
    store.put("s3://bucket/unfinished/_unfinished-abc", b"")
    store.put("s3://bucket/unfinished/part-000000-abc-def.jsonl", SAMPLE.read_bytes())

    run = kcompact("compact", dump, "-o", output)

    assert run.exit_code == 2, run.stderr
    assert words in run.stderr
    assert "Traceback" not in run.stderr
