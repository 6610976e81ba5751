"""A standalone cluster that shares no disk with the driver: the same records, reports and parts as here."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine_runs import is_clean, processes_of, start_python, wait_until
from nights import check_nights_in_a_row
from s3_server import S3
from spark_cluster import cluster_environment, standalone_cluster
from store_runs import (
    FORMS,
    QUESTIONS,
    SAMPLE,
    check_a_notebook_s_session_opens_dumps_where_workers_are,
    check_answers_are_alike,
    check_files_are_alike,
    check_parts_are_alike,
    needs_jdk,
    put_large,
    run_kcompact,
)

SECONDS_TO_SAY = 15
MUCH_MEMORY = "spark.executor.memory=90g"
pytestmark = [pytest.mark.spark, needs_jdk]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver's own folder, which workers cannot see."""
    return tmp_path_factory.mktemp("driver")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that workers see, too."""
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def master(store: S3, driver: Path, shared: Path) -> Iterator[str]:
    with standalone_cluster(shared / "workers", driver, store.environment) as url:
        yield url


@pytest.mark.parametrize("options", FORMS)
def test_a_cluster_without_a_common_disk_gives_what_one_machine_gives(
    options: tuple[str, ...], store: S3, driver: Path, master: str
) -> None:
    check_parts_are_alike(store, driver, master, *options)


@pytest.mark.parametrize("options", FORMS)
def test_an_output_on_the_drivers_own_disk_comes_to_it_through_spark(
    options: tuple[str, ...], store: S3, driver: Path, master: str
) -> None:
    check_files_are_alike(store, driver, master, *options)


@pytest.mark.at_length
def test_standard_output_is_the_drivers_where_one_task_reads_all(
    store: S3, driver: Path, master: str
) -> None:
    store.put("s3://bucket/small/orders.jsonl", SAMPLE.read_bytes())
    line = ("compact", "s3://bucket/small/orders.jsonl", "-o", "-", "--master")
    environment = store.environment | cluster_environment()

    here, there = (
        run_kcompact(*line, place, environment=environment, folder=driver) for place in ("local[2]", master)
    )

    assert (here.returncode, there.returncode) == (0, 0), there.stderr
    assert here.stdout.count("\n") > 100
    assert there.stdout == here.stdout


@pytest.mark.at_length
@pytest.mark.parametrize("line", QUESTIONS)
def test_a_cluster_answers_what_one_machine_answers(
    line: tuple[str, ...], store: S3, driver: Path, master: str
) -> None:
    check_answers_are_alike(store, driver, master, *line)


@pytest.mark.at_length
@pytest.mark.parametrize(
    "line",
    [
        ("compact", "-o", "s3://bucket/unseen/"),
        ("inspect",),
        ("inspect", "--key", "x"),
        ("dirty-ratio",),
        ("verify",),
    ],
    ids=" ".join,
)
def test_every_command_says_which_dump_only_the_driver_sees(
    line: tuple[str, ...], store: S3, driver: Path, master: str
) -> None:
    dump = driver / "orders.jsonl"
    dump.write_bytes(SAMPLE.read_bytes())

    run = run_kcompact(
        *(*line, dump, "--master", master),
        environment=store.environment | cluster_environment(),
        folder=driver,
    )

    assert run.returncode == 2, run.stderr
    assert f"{dump}: workers on" in run.stderr
    assert store.objects("s3://bucket/unseen/") == {}


@pytest.mark.at_length
def test_a_path_that_is_relative_is_the_drivers(store: S3, driver: Path, shared: Path, master: str) -> None:
    dump = shared / "orders.jsonl"
    dump.write_bytes(SAMPLE.read_bytes())

    run = run_kcompact(
        *("inspect", os.path.relpath(dump), "--master", master),
        environment=store.environment | cluster_environment(),
        folder=driver,
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("600 records, 149 live of 163 keys")


@pytest.mark.at_length
def test_a_notebook_s_session_opens_dumps_where_workers_are(store: S3, driver: Path, master: str) -> None:
    check_a_notebook_s_session_opens_dumps_where_workers_are(store, driver, master)


@pytest.mark.at_length
def test_nights_in_a_row_go_on_from_a_state_that_the_driver_keeps_on_the_store(
    store: S3, driver: Path, master: str
) -> None:
    check_nights_in_a_row(store, driver, master)


@pytest.mark.at_length
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_gets_no_executor_says_so_waits_and_can_be_stopped_without_a_word(
    number: signal.Signals, store: S3, master: str, tmp_path: Path
) -> None:
    store.put("s3://bucket/small/orders.jsonl", SAMPLE.read_bytes())
    line = ["inspect", "s3://bucket/small/orders.jsonl", "--master", master, "--conf", MUCH_MEMORY]
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"from kcompact.app import main; raise SystemExit(main({line!r}))"
    )
    process = start_python(code, tmp_path, **store.environment, **cluster_environment())
    assert process.stderr is not None
    assert process.stderr.readline().startswith("note: the cluster has started no executor so far")
    assert not wait_until(lambda: process.poll() is not None, seconds=2)

    process.send_signal(number)
    out, err = process.communicate(timeout=60)

    assert (process.returncode, out, err) == (130, "", "")
    assert wait_until(lambda: is_clean(tmp_path), seconds=10), processes_of(tmp_path)


def test_a_master_that_is_not_there_is_said_at_once(store: S3, driver: Path) -> None:
    put_large(store, "s3://bucket/in/")
    started = time.monotonic()

    run = run_kcompact(
        *("compact", "s3://bucket/in/", "-o", "s3://bucket/nowhere/", "--master", "spark://127.0.0.1:1"),
        environment=store.environment,
        folder=driver,
    )

    assert run.returncode == 2
    assert "no Spark master can be reached at 127.0.0.1:1" in run.stderr
    assert time.monotonic() - started < SECONDS_TO_SAY
