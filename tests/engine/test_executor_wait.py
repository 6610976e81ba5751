"""A cluster without executors is spoken of once; one that has some, or a run that is over, is not."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError

from engine_runs import wait_until
from kcompact.console import quietly
from kcompact.engine import executor_wait
from kcompact.engine.executor_wait import noted_without_executors
from kcompact.engine.masters import MasterKind

SHORT_SECONDS = 0.05


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_wait, "_PATIENCE_SECONDS", SHORT_SECONDS)


def session(executors: int, master: str = "spark://m:7077", **conf: str) -> Any:
    """All that is asked of a session; fewer than none stand for a Java that is gone."""

    def size() -> int:
        if executors < 0:
            raise Py4JError("gone")
        return executors + 1

    status = SimpleNamespace(size=size)
    scala = SimpleNamespace(getExecutorMemoryStatus=lambda: status)
    settings = {f"spark.executor.{name}": value for name, value in conf.items()}
    java = SimpleNamespace(sc=lambda: scala)
    context = SimpleNamespace(master=master, _jsc=java, getConf=lambda: settings)
    return SimpleNamespace(sparkContext=context)


def test_what_executors_ask_for_is_noted_once(capsys: pytest.CaptureFixture[str]) -> None:
    printed: list[str] = []

    def has_spoken() -> bool:
        printed.append(capsys.readouterr().err)
        return any(printed)

    with noted_without_executors(session(0, memory="90g", cores="4"), MasterKind.STANDALONE):
        assert wait_until(has_spoken, seconds=10)
        time.sleep(4 * SHORT_SECONDS)
    text = "".join(printed) + capsys.readouterr().err
    assert text.startswith("note: the cluster has started no executor so far: each needs 90g of memory")
    assert "4 cores (spark.executor.cores)" in text
    assert "the master's page" in text
    assert text.count("\n") == 1


@pytest.mark.everyday(1)
@pytest.mark.parametrize(("executors", "master"), [(2, "yarn"), (-1, "yarn"), (0, "local[2]")])
def test_executors_a_java_that_is_gone_and_spark_submit_on_one_machine_are_not_spoken_of(
    executors: int, master: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with noted_without_executors(session(executors, master), MasterKind.SUBMITTED):
        time.sleep(6 * SHORT_SECONDS)
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_quiet_run_and_one_that_is_over_are_told_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with quietly(True), noted_without_executors(session(0), MasterKind.STANDALONE):
        time.sleep(6 * SHORT_SECONDS)
    with noted_without_executors(session(0), MasterKind.STANDALONE):
        pass
    time.sleep(4 * SHORT_SECONDS)
    assert capsys.readouterr().err == ""
