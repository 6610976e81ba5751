"""Behind a Spark Connect server that shares no disk with the client: blocks travel in DataFrames there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from s3_server import S3
from spark_cluster import connect_server
from store_runs import (
    FORMS,
    QUESTIONS,
    answered,
    compacted,
    needs_jdk,
    put_compacted,
    put_large,
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
    put_large(store, "s3://bucket/in/")

    here = compacted(store, client, "local[2]", *options)
    there = compacted(store, client, server, *options)

    assert len(here.parts) == 2
    assert there == here


@pytest.mark.at_length
@pytest.mark.parametrize("line", QUESTIONS)
def test_a_connect_server_answers_what_one_machine_answers(
    line: tuple[str, ...], store: S3, client: Path, server: str
) -> None:
    put_compacted(store, client)

    here = answered(store, client, "local[2]", *line)
    there = answered(store, client, server, *line)

    assert there == here
