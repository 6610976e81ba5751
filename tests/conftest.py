"""Fixtures shared by all tests."""

import gc
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

AT_LENGTH = "KCOMPACT_CLUSTER_TESTS" in os.environ
"""Whether there is time for minutes of clusters: a job of its own sets this variable."""

# No test run leaves a process behind that makes Java's cache. "tests": no real CI, which sets it itself.
os.environ.setdefault("CI", "tests")
# How long an example takes says how busy the machine is.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@dataclass(frozen=True)
class Run:
    """What one command line did."""

    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark session for the whole test run; the commands borrow it."""
    from kcompact.engine.session import SessionOptions, open_session

    with open_session(SessionOptions(master="local[2]")) as session:
        yield session


@pytest.fixture(scope="session")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder for temporary files where no other program leaves anything that a run would speak of."""
    return str(tmp_path_factory.mktemp("temporary"))


@pytest.fixture(params=["loops", "tables"])
def loops_or_tables(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Index rows are counted and grouped by compiled code, and without."""
    from kcompact.dumps.loops.readiness import load_loops
    from kcompact.engine.passes import log_figures, offset_map

    assert load_loops("json_lines")
    with monkeypatch.context() as patch:
        if request.param == "tables":
            patch.setattr(log_figures, "loaded_loop", lambda _: None)
            patch.setattr(offset_map, "loaded_loop", lambda _: None)
        yield


@pytest.fixture
def kcompact(
    capsys: pytest.CaptureFixture[str], temporary: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Run]:
    """Run a command line through ``main()``: exit code, stdout, stderr."""
    from kcompact.app import main

    monkeypatch.setattr("tempfile.tempdir", temporary)

    def run(*arguments: object) -> Run:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Run(int(code), captured.out, captured.err)

    return run


def pytest_configure() -> None:
    gc.disable()  # ten thousand tests are made, none of which goes


def pytest_collection_finish() -> None:
    gc.freeze()  # no collection of garbage looks through the tests again
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests that use the session or are slow; leave those ``at_length`` to the job that has the time."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
    mark_slow_cases(items)
    later = [] if AT_LENGTH else [item for item in items if item.get_closest_marker("at_length")]
    if later:
        config.hook.pytest_deselected(items=later)
        items[:] = [item for item in items if item not in later]


def mark_slow_cases(items: list[pytest.Item]) -> None:
    """Of the cases of a test marked ``everyday(n)``, all but ``n``, spread evenly, are slow."""
    counts: dict[str, int] = {}
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if (marker := item.get_closest_marker("everyday")) is not None:
            test = item.nodeid.partition("[")[0]
            counts[test] = marker.args[0]
            cases.setdefault(test, []).append(item)
    for test, of_test in cases.items():
        quick = {len(of_test) * number // counts[test] for number in range(counts[test])}
        for number, item in enumerate(of_test):
            if number not in quick:
                item.add_marker(pytest.mark.slow)
