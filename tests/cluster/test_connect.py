"""Behind a Spark Connect server that shares no disk with the client: blocks travel in DataFrames there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nights import check_nights_in_a_row
from s3_server import S3
from spark_cluster import connect_server
from store_runs import (
    FORMS,
    QUESTIONS,
    check_a_notebook_s_session_opens_dumps_where_workers_are,
    check_answers_are_alike,
    check_files_are_alike,
    check_parts_are_alike,
    needs_jdk,
)

pytestmark = [pytest.mark.spark, needs_jdk]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client's own folder, which the server cannot see."""
    return tmp_path_factory.mktemp("client")


@pytest.fixture(scope="module")
def server(store: S3, client: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("connect") / "server"
    with connect_server(folder, client, store.environment) as url:
        yield url


@pytest.mark.parametrize("options", FORMS)
def test_a_connect_server_gives_what_one_machine_gives(
    options: tuple[str, ...], store: S3, client: Path, server: str
) -> None:
    check_parts_are_alike(store, client, server, *options)


@pytest.mark.at_length
@pytest.mark.parametrize("options", FORMS)
def test_an_output_on_the_clients_own_disk_comes_to_it_through_spark(
    options: tuple[str, ...], store: S3, client: Path, server: str
) -> None:
    check_files_are_alike(store, client, server, *options)


@pytest.mark.at_length
def test_nights_in_a_row_go_on_from_a_state_that_the_client_keeps_on_the_store(
    store: S3, client: Path, server: str
) -> None:
    check_nights_in_a_row(store, client, server)


@pytest.mark.at_length
def test_a_notebook_s_session_opens_dumps_where_the_server_is(store: S3, client: Path, server: str) -> None:
    check_a_notebook_s_session_opens_dumps_where_workers_are(store, client, server)


@pytest.mark.at_length
@pytest.mark.parametrize("line", QUESTIONS)
def test_a_connect_server_answers_what_one_machine_answers(
    line: tuple[str, ...], store: S3, client: Path, server: str
) -> None:
    check_answers_are_alike(store, client, server, *line)
