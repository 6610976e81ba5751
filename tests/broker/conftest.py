"""The live broker, started once a session. Missing tools skip these tests, but never in CI."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from live_broker import BrokerUnavailableError, LiveBroker, start_broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveBroker]:
    """A running broker."""
    folder: Path = tmp_path_factory.mktemp("broker")
    running = start_broker(folder)
    try:
        started = running.__enter__()
    except BrokerUnavailableError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no live broker: {error}")
    try:
        yield started
    finally:
        running.__exit__(None, None, None)
