"""One S3 server for the tests of a file."""

from collections.abc import Iterator

import pytest

from s3_server import S3, s3_server


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with s3_server(tmp_path_factory.mktemp("s3") / "log") as server:
        server.make_bucket("bucket")
        yield server


@pytest.fixture
def place(store: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """The server, its bucket empty, and the way to it in the environment."""
    store.remove("s3://bucket/")
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    return store
