"""The command line is killed, and given faults, at every call by which it changes the disk.

The faulty layer is ``faulty_disk.Faulty``, in place of ``kcompact.storage.disk.system``. Dump, report and
state are then wholly old or wholly new, together. Everyday every third call is killed and each
has one fault; with KCOMPACT_KILLS of 200 and more each is killed and has every fault, and real runs follow.
"""

import errno
import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from old_and_new import GO_ON, IS_LONG, Campaign, Cli, follow, prepared

from faulty_disk import Faulty
from kcompact.commands import compact_run
from kcompact.commands.incoming import opening
from kcompact.compact.request import Compacted
from kcompact.storage import disk

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
ERRORS = [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EINTR, errno.EDQUOT]
KILLED = 1 if IS_LONG else 3  # every so many calls
FOLLOWED = 1 if IS_LONG else 20
FAULTED = 1 if IS_LONG else len(ERRORS)  # so that everyday each call has one of them


@pytest.fixture
def campaign(
    tmp_path: Path, kcompact: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Campaign:
    """Everything that is there before a run is killed."""
    return prepared(tmp_path, kcompact, monkeypatch, capsys)


@contextmanager
def without_spark(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Inside, the command line does everything but the work of Spark, whose parts it finds done."""

    def compact_dump(_spark: Any, _dump: Any, request: Any) -> Compacted:
        shutil.copytree(campaign.parts, request.folder, dirs_exist_ok=True)
        return campaign.done

    with monkeypatch.context() as patched:
        patched.setattr(compact_run, "compact_dump", compact_dump)
        patched.setattr(opening, "open_session", lambda _options: nullcontext())
        patched.setattr(compact_run, "prepare_soon", lambda _page: None)
        yield


def test_a_kill_at_every_call_of_the_command_line_leaves_all_old_or_all_new(
    campaign: Campaign,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, at, died = [], 0, True
    while died:
        at += KILLED
        folder = campaign.fresh(f"at-{at}")
        monkeypatch.chdir(folder)
        with without_spark(campaign, monkeypatch):
            if (child := os.fork()) == 0:
                disk.system = Faulty(lambda: os.kill(os.getpid(), signal.SIGKILL), at)
                os._exit(campaign.kcompact(*GO_ON.split()).exit_code)
            status = os.waitpid(child, 0)[1]
        died = status != 0
        assert not died or os.WTERMSIG(status) == signal.SIGKILL
        found.append(follow(folder, campaign, in_full=at % FOLLOWED == 0))
    assert {"old", "new"} == set(found)
    assert found == sorted(found, reverse=True)
    campaign.tell(f"{len(found) - 1:7,} kills, each at a call of its own: {Counter(found)}")


@pytest.mark.parametrize("number", ERRORS, ids=errno.errorcode.get)
def test_a_fault_at_every_call_of_the_command_line_is_refused_or_survived(
    number: int,
    campaign: Campaign,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise OSError(number, os.strerror(number))

    at, has_happened, came_of = ERRORS.index(number) % FAULTED, True, Counter[str]()
    while has_happened:
        at += FAULTED
        folder = campaign.fresh(f"at-{at}")
        monkeypatch.chdir(folder)
        faulty = Faulty(fail, at)
        with without_spark(campaign, monkeypatch), monkeypatch.context() as patched:
            patched.setattr(disk, "system", faulty)
            run = campaign.kcompact(*GO_ON.split())
        has_happened = faulty.left <= 0
        assert run.exit_code in (0, 2), (at, run.stderr)
        assert run.exit_code == 0 or os.strerror(number) in run.stderr, (at, run.stderr)
        found = follow(folder, campaign, in_full=False)
        assert found == ("new" if run.exit_code == 0 else "old"), (at, run.stderr)
        came_of[f"exit {run.exit_code}, all {found}"] += 1
        shutil.rmtree(folder)
    assert at > 50
    campaign.tell(f"{came_of.total() - 1:7,} faults ({errno.errorcode[number]}): {came_of}")
