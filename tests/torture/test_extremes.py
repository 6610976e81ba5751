"""Many files, topics, partitions and batches, one line without end: a result or a refusal, in bounded memory.

Everyday a hundredth of each, in one packing; with KCOMPACT_EXTREMES=whole 20,000 files, 50,000 topics,
200,000 partitions, 5,000,000 batches, and 10 GB of one line in a small packed file.
"""

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine_runs import processes_of
from kcompact.dumps.avro.avro_codecs import CODECS

IS_WHOLE = os.environ.get("KCOMPACT_EXTREMES") == "whole"
SHARE = 1 if IS_WHOLE else 100
MOST_MEMORY_MB = 3_000
MOST_MEMORY_OF_BATCHES_MB = 2_500  # 1,950 without batches; 5,150 where the driver held them all
BATCHES_PER_SEGMENT = 100_000 // SHARE
LONGEST_SECONDS = 1_800
LINE = b'{"topic":"t","partition":0,"offset":7,"timestamp":1,"key":"k","value":"v"}\n'
LINES_AT_ONCE = 100_000
PACKERS = {"gz": gzip.compress, "zst": CODECS["zstandard"].pack, "xz": lzma.compress, "bz2": bz2.compress}

pytestmark = pytest.mark.spark


def line(topic: str, partition: int, offset: int) -> str:
    place = f'"topic":"{topic}","partition":{partition},"offset":{offset}'
    return f'{{{place},"timestamp":1,"key":"k","value":"v"}}\n'


def run_measured(folder: Path, *arguments: str) -> tuple[int, str, int]:
    """Run a command line in a process of its own: exit code, standard error, the most MB of all processes."""
    temporary = folder / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "kcompact", *arguments, "--master", "local[2]"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    most, deadline = 0, time.monotonic() + LONGEST_SECONDS
    while process.poll() is None:
        assert time.monotonic() < deadline
        most = max(most, sum(map(memory_mb, processes_of(temporary))))
        time.sleep(0.2)
    _, err = process.communicate()
    return process.returncode, err, most


def memory_mb(pid: int) -> int:
    """Of one process; pages that it shares count in part."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # ended meanwhile
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) // 1024


def tell(capsys: pytest.CaptureFixture[str], text: str) -> None:
    if IS_WHOLE:
        with capsys.disabled():
            print(f"\n{text}")  # noqa: T201  the table of SECURITY.md is made from it


def many_files(folder: Path) -> None:
    for number in range(20_000 // SHARE):
        (folder / f"{number}.jsonl").write_text("".join(line("t", 0, 2 * number + n) for n in range(2)))


def many_topics(folder: Path) -> None:
    with (folder / "a.jsonl").open("w") as out:
        out.writelines(
            line(f"topic-{number}", 0, offset) for offset in (0, 1) for number in range(50_000 // SHARE)
        )


def many_partitions(folder: Path) -> None:
    with (folder / "a.jsonl").open("w") as out:
        out.writelines(line("t", number, offset) for offset in (0, 1) for number in range(200_000 // SHARE))


@pytest.mark.parametrize("make", [many_files, many_topics, many_partitions])
def test_many_of_a_kind_are_compacted_in_bounded_memory(
    make: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    make(tmp_path / "in")
    started = time.monotonic()
    code, err, most = run_measured(tmp_path, "compact", "in/*.jsonl", "-o", "out.jsonl")
    tell(capsys, f"{make.__name__}: {time.monotonic() - started:.0f} s, {most:,} MB")
    assert code == 0, err
    assert most < MOST_MEMORY_MB
    logs = {many_files: SHARE, many_topics: 50_000, many_partitions: 200_000}
    wanted = logs[make] // SHARE  # one record stays of each
    assert (tmp_path / "out.jsonl").read_bytes().count(b"\n") == wanted


def many_batches(folder: Path, batches: int) -> set[int]:
    """A dump, and the list of its batches of one record each; the offsets that stay.

    Every tenth batch is a marker, behind a transaction of nine. Every third transaction is aborted. The last
    segment is active, and not cleaned.
    """
    latest: dict[int, int] = {}
    active = (batches - 1) // BATCHES_PER_SEGMENT * BATCHES_PER_SEGMENT
    columns = "topic partition segment baseOffset lastOffset count bytes producerId producerEpoch"
    with (folder / "a.jsonl").open("w") as dump, (folder / "batches").open("w") as listed:
        listed.write("\t".join([*columns.split(), "transactional", "control"]) + "\n")
        for offset in range(batches):
            segment, is_aborted = offset - offset % BATCHES_PER_SEGMENT, offset // 10 % 3 == 0
            control = "-" if offset % 10 < 9 else ("ABORT" if is_aborted else "COMMIT")
            batch = ("t", 0, segment, offset, offset, 1, 78, 7, 0, 1, control)
            listed.write("\t".join(map(str, batch)) + "\n")
            if control == "-":
                key = offset * 7919 % (batches // 5)
                dump.write(line("t", 0, offset).replace('"k"', f'"{key}"'))
                if offset >= active:
                    latest[-offset] = offset
                elif not is_aborted:
                    latest[key] = offset
    return set(latest.values())


def test_the_batches_of_a_log_do_not_lie_in_memory_as_a_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offsets = many_batches(tmp_path, 5_000_000 // SHARE)
    started = time.monotonic()
    code, err, most = run_measured(tmp_path, "compact", "a.jsonl", "-o", "out.jsonl", "--batches", "batches")
    tell(capsys, f"many_batches: {time.monotonic() - started:.0f} s, {most:,} MB")
    assert code == 0, err
    assert most < MOST_MEMORY_OF_BATCHES_MB
    with (tmp_path / "out.jsonl").open() as out:
        assert {json.loads(record)["offset"] for record in out} == offsets


def endless(packer: Callable[[bytes], bytes], total_bytes: int) -> Iterator[bytes]:
    """One line again and again, as members of a packed file one after another."""
    member = packer(LINE * LINES_AT_ONCE)
    for _ in range(total_bytes // (len(LINE) * LINES_AT_ONCE) + 1):
        yield member


@pytest.mark.parametrize("suffix", PACKERS if IS_WHOLE else ["zst"])
def test_one_line_ten_billion_bytes_long_is_refused_in_bounded_memory(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (tmp_path / f"bomb.jsonl.{suffix}").open("wb") as out:
        out.writelines(endless(PACKERS[suffix], 10_000_000_000 // SHARE))
    started = time.monotonic()
    code, err, most = run_measured(tmp_path, "compact", f"bomb.jsonl.{suffix}", "-o", "out.jsonl")
    tell(
        capsys, f"10 GB of one line, {suffix}: {time.monotonic() - started:.0f} s, {most:,} MB: {err.strip()}"
    )
    assert code == 2
    assert f"bomb.jsonl.{suffix}" in err or "records at one offset" in err
    assert most < MOST_MEMORY_MB
    assert not (tmp_path / "out.jsonl").exists()
