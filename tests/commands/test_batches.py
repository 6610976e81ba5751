"""What the batches of a log tell, through the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from dump_files import kcat_offsets
from dump_log_text import Logged, write_dump_log
from golden_cases import golden_cases

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]
CASES = {case.name: case for case in golden_cases()}


def test_nothing_is_cleaned_from_an_open_transaction_on(tmp_path: Path, kcompact: Cli) -> None:
    case, out = CASES["w10-transactions"], tmp_path / "out.jsonl"
    before, batches = case.path("before", "jsonl"), ("--batches", case.path("before", "batches"))

    run = kcompact("compact", before, *batches, "-o", out)

    assert run.exit_code == 0
    assert "w10-0: by its batches the transaction at offset 114 is open" in run.stderr
    assert sorted(offset for _, _, offset in kcat_offsets(out)) == case.offsets("after")["w10", 0]
    assert kcompact("verify", before, out, *batches).exit_code == 0


def test_what_only_an_open_transaction_replaces_is_no_compaction_for_certain(
    tmp_path: Path, kcompact: Cli
) -> None:
    segments = {0: [Logged(0, "a=1"), Logged(1, "a=2", producer=7)], 2: [Logged(2, "z=1")]}
    before = write_dump_log(tmp_path / "b.txt", segments)
    after = write_dump_log(tmp_path / "a.txt", {0: segments[0][1:], 2: segments[2]})

    run = kcompact("verify", before, after, "--batches", before)

    assert run.exit_code == 2
    assert "nobody can tell: 1 lost-above-end" in run.stdout
    assert "give --batches of the moment of the cleaning" in run.stdout
    assert "t-0: by its batches the transaction at offset 1 is open" in run.stderr
    dirty = kcompact("dirty-ratio", before, "--batches", before, "--format", "json")
    [log] = json.loads(dirty.stdout)["logs"]
    assert (log["last_stable_offset"], log["binding_limit"]) == (1, "last stable offset")
