"""The live brokers, each started once a session. Missing tools skip these tests, but never in CI."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from live_broker import BrokerUnavailableError, LiveBroker, start_broker
from workloads import SMALL_MAP


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveBroker]:
    """A running broker."""
    yield from _running(tmp_path_factory, {})


@pytest.fixture(scope="session")
def small_map_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveBroker]:
    """A running broker whose cleaner needs several rounds for more than some keys."""
    yield from _running(tmp_path_factory, SMALL_MAP)


def _running(tmp_path_factory: pytest.TempPathFactory, configs: Mapping[str, str]) -> Iterator[LiveBroker]:
    with ExitStack() as stack:
        try:
            started = stack.enter_context(start_broker(tmp_path_factory.mktemp("broker"), configs))
        except BrokerUnavailableError as error:
            if os.environ["CI"] != "tests":
                raise
            pytest.skip(f"no live broker: {error}")
        yield started
