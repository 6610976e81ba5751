"""What is refused before Java is started."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from kcompact.engine.startup.settings import SessionOptions, properties_of, spill_root


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ("40m", "--driver-memory 40m is too little for Spark"),
        ("511M", "too little"),
        ("1", "too little"),
        ("0g", "too little"),
        ("much", "--driver-memory much is not a size"),
        ("-1g", "not a size"),
        ("1.5g", "not a size"),
        ("²g", "not a size"),
        ("9" * 5000 + "g", "not a size"),
        ("", "names nothing"),
    ],
)
def test_a_heap_that_cannot_do_is_refused_in_a_sentence(
    kcompact: Callable[..., Run], size: str, words: str
) -> None:
    run = kcompact("inspect", "samples/orders.jsonl", "--driver-memory", size)
    assert run.exit_code == 2
    assert words in run.stderr
    assert "hint: " in run.stderr
    assert run.stdout == ""


@pytest.mark.parametrize(
    ("setting", "hint"),
    [
        ("spark.driver.memory=4g", "write --driver-memory 4g"),
        ("spark.master=local[2]", "write --master 'local[2]'"),
        ("spark.remote=sc://host", "write --remote sc://host"),
    ],
)
def test_a_setting_that_has_an_option_is_refused_with_the_option(
    kcompact: Callable[..., Run], setting: str, hint: str
) -> None:
    run = kcompact("inspect", "samples/orders.jsonl", "--conf", setting)
    assert (run.exit_code, hint in run.stderr) == (2, True)


@pytest.mark.parametrize("master", [None, "local[2]", "local[2,4]"])
def test_blocks_that_stay_on_this_machine_are_not_packed_again(master: str | None) -> None:
    assert properties_of(SessionOptions(master=master))["spark.shuffle.compress"] == "false"
    asked = SessionOptions(master=master, conf=(("spark.shuffle.compress", "true"),))
    assert properties_of(asked)["spark.shuffle.compress"] == "true"


def test_another_mount_may_be_called_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = b"none / tmpfs rw 0 0\nnone /media/\xe9\x1c\xc2\x85\r rw 0 0\n"
    monkeypatch.setattr(Path, "read_bytes", lambda _: mounts)
    monkeypatch.setattr("tempfile.tempdir", "/tmp")  # noqa: S108  nothing is made there
    monkeypatch.delenv("TMPDIR", raising=False)
    assert spill_root(1 << 40) == Path("/var/tmp")  # noqa: S108
