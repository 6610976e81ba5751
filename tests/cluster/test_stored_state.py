"""A state on a store: who may write it, and what is left of it when a run dies, is overtaken or refused."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kcompact.broker.delete_horizons import DeleteHorizon
from kcompact.broker.log_names import LogName
from kcompact.broker.state.cleaner_state import CleanerState, texts_of
from kcompact.broker.state.state_output import OutputFile
from kcompact.broker.state.state_places import open_state, read_states
from kcompact.errors import InputError, KcompactError, OutputError
from kcompact.storage import conditional_objects, lease
from s3_server import S3
from store_proxy import LOST, UNCONDITIONAL, Fault, Proxy, Request, store_proxy

pytestmark = pytest.mark.slow  # a server, and a second for each thing that is waited for

STATE = "s3://bucket/state/"
ORDERS = LogName("orders", 0)
LOCK, OBJECT = f"{STATE}lock", f"{STATE}state.json"
NO_PUBLICATION: Any = None  # a state on a store needs none


def state(end_offset: int) -> CleanerState:
    return CleanerState(
        {ORDERS: end_offset},
        {ORDERS: (DeleteHorizon(end_offset, 1_700_000_000_000),)},
        {ORDERS: end_offset - 1},
        (OutputFile(f"part-{end_offset}", end_offset, f"{end_offset:064}"),),
    )


def use(store: S3, patch: pytest.MonkeyPatch) -> None:
    for name, value in store.environment.items():
        patch.setenv(name, value)


@pytest.fixture(autouse=True)
def place(store: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """A store without a state, and locks that are renewed, and expire, in no time."""
    store.remove(STATE)
    use(store, monkeypatch)
    monkeypatch.setattr(lease, "RENEWED_SECONDS", 0.1)
    monkeypatch.setattr(lease, "TAKEN_OVER_SECONDS", 1.0)
    monkeypatch.setattr(lease, "_LOOK_SECONDS", 0.05)
    return store


@pytest.fixture
def proxy(place: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with store_proxy(place) as proxy:
        use(proxy.store, monkeypatch)
        yield proxy


def save(later: CleanerState, *, finishes: bool = True) -> None:
    """A run that goes on from the first of what is there; one that does not finish dies before that."""
    with open_state(STATE, writes=True) as opened:
        opened.prepare(next(iter(opened.states), CleanerState()), later, NO_PUBLICATION)
        if finishes:
            opened.finish()


def test_a_state_comes_back_and_nothing_else_is_left(place: S3) -> None:
    save(state(300))
    save(state(400))
    assert read_states(STATE) == (state(400),)
    assert list(place.objects(STATE)) == ["state.json"]


def test_a_run_that_dies_while_it_publishes_leaves_both_states() -> None:
    save(state(300))
    save(state(400), finishes=False)
    assert read_states(STATE) == (state(300), state(400))
    save(state(500))
    assert read_states(STATE) == (state(500),)


def test_the_first_run_that_dies_leaves_the_empty_state_and_its_own() -> None:
    save(state(300), finishes=False)
    assert read_states(STATE) == (CleanerState(), state(300))


def test_of_two_runs_at_once_the_second_is_told_who_has_the_state() -> None:
    with open_state(STATE, writes=True) as first:
        with (
            pytest.raises(InputError, match=rf"in use by another run \(process {os.getpid()} on .*since 20"),
            open_state(STATE, writes=True),
        ):
            pass
        first.prepare(CleanerState(), state(300), NO_PUBLICATION)
        first.finish()
    assert read_states(STATE) == (state(300),)


def test_reading_needs_no_lock() -> None:
    save(state(300))
    with open_state(STATE, writes=True), open_state(STATE, writes=False) as reading:
        assert reading.states == (state(300),)


def test_the_lock_of_a_run_that_has_died_is_taken_over(place: S3, capsys: pytest.CaptureFixture[str]) -> None:
    holder = {"run": "x", "host": "gone", "process": 7, "since": "2026-01-01T00:00:00+00:00"}
    place.put(LOCK, json.dumps(holder | {"renewals": 3}).encode())
    started = time.monotonic()
    save(state(300))
    assert time.monotonic() - started >= 1
    said = "locked by another run (process 7 on gone, since 2026-01-01T00:00:00+00:00); if that has died"
    assert said in capsys.readouterr().err
    assert list(place.objects(STATE)) == ["state.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[7]", b'{"renewals": {}}'])
def test_a_lock_that_tells_nothing_is_a_lock(content: bytes, place: S3) -> None:
    place.put(LOCK, content)
    save(state(300))
    assert list(place.objects(STATE)) == ["state.json"]


def test_whoever_was_overtaken_changes_nothing(place: S3) -> None:
    """Its lock was deleted by hand, or expired while its machine slept."""
    save(state(300))
    with ExitStack() as runs:
        first = runs.enter_context(open_state(STATE, writes=True))
        place.remove_one(LOCK)
        second = runs.enter_context(open_state(STATE, writes=True))
        second.prepare(state(300), state(400), NO_PUBLICATION)
        with pytest.raises(OutputError, match="another run has changed this state since this one began"):
            first.prepare(state(300), state(350), NO_PUBLICATION)
        second.finish()
        assert read_states(STATE) == (state(400),)
        runs.pop_all().close()
    assert list(place.objects(STATE)) == ["state.json"]


def test_a_run_that_is_overtaken_while_it_publishes_says_that_the_state_is_another_s(place: S3) -> None:
    with open_state(STATE, writes=True) as first:
        first.prepare(CleanerState(), state(300), NO_PUBLICATION)
        place.remove_one(LOCK)
        save(state(400))
        with pytest.raises(OutputError, match="has taken over this state; the dump that this run wrote"):
            first.finish()
    assert read_states(STATE) == (state(400),)


def test_where_the_last_write_fails_the_dump_is_there_and_its_state_is_known(proxy: Proxy) -> None:
    written: list[str] = []

    def refuse(request: Request) -> int | None:
        written.extend([request.path] if request.method == "PUT" and "state.json" in request.path else [])
        return 403 if len(written) == 2 else None

    proxy.fault = refuse
    with pytest.raises(OutputError, match=r"refuses these credentials; the new dump is complete, and a run"):
        save(state(300))
    proxy.fault = lambda _: None
    assert read_states(STATE) == (CleanerState(), state(300))


def test_a_run_that_lost_its_lock_leaves_that_of_another_alone(place: S3) -> None:
    with open_state(STATE, writes=True):
        other = b'{"run": "x", "host": "there", "process": 7, "since": "now"}'
        place.put(LOCK, other)
        time.sleep(0.3)
    assert place.get(LOCK) == other


@pytest.mark.parametrize("name", ["lock", "state.json"])
def test_a_write_whose_answer_is_lost_counts(name: str, proxy: Proxy) -> None:
    lost: list[str] = []

    def lose(method: str, path: str) -> str | None:
        if method == "PUT" and path.endswith(name) and len(lost) < 1:
            lost.append(path)
            return LOST
        return None

    proxy.fault = lambda request: lose(request.method, request.path)
    save(state(300))
    assert len(lost) == 1
    assert read_states(STATE) == (state(300),)
    assert list(proxy.store.objects(STATE)) == ["state.json"]


def test_a_store_that_heeds_no_conditions_is_refused(proxy: Proxy) -> None:
    proxy.fault = lambda request: UNCONDITIONAL if request.method == "PUT" else None
    with pytest.raises(InputError, match="this store ignores conditions of writes"):
        save(state(300))
    assert proxy.store.objects(STATE) == {}


REFUSED: dict[str, Fault] = {
    "wrong credentials": lambda _: 403,
    "no permission to write": lambda request: 403 if request.method == "PUT" else None,
    "no permission to write the state": lambda request: (
        403 if request.method == "PUT" and "state.json" in request.path else None
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_store_refuses_is_said_without_its_words(name: str, place: S3, proxy: Proxy) -> None:
    save(state(300))
    proxy.fault = REFUSED[name]
    with pytest.raises(KcompactError, match=f"^{STATE}.*: the store refuses these credentials") as caught:
        save(state(400))
    proxy.fault = lambda _: None
    assert "a-key-of-tests" not in f"{caught.value} {caught.value.hint}"
    assert read_states(STATE) == (state(300),)
    assert list(place.objects(STATE)) == ["state.json"]


def test_no_permission_to_delete_the_lock_costs_the_next_run_a_while(proxy: Proxy) -> None:
    proxy.fault = lambda request: 403 if request.method == "DELETE" else None
    save(state(300))
    save(state(400))
    assert read_states(STATE) == (state(400),)


def test_credentials_come_from_a_profile_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "credentials").write_text("[night]\naws_access_key_id = a\naws_secret_access_key = b\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_PROFILE", "night")
    save(state(300))
    assert read_states(STATE) == (state(300),)
    monkeypatch.setenv("AWS_PROFILE", "day")
    with pytest.raises(KcompactError, match="the store refuses these credentials"):
        read_states(STATE)


def test_a_line_feed_behind_the_endpoint_does_not_count_and_in_a_token_is_said(
    place: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f" {place.endpoint}\n")
    save(state(300))
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a\ntoken")
    with pytest.raises(KcompactError, match="no request can be made with this endpoint") as caught:
        read_states(STATE)
    assert "token" not in f"{caught.value}"


def test_a_bucket_that_is_not_there_is_said() -> None:
    with (
        pytest.raises(KcompactError, match="s3://no-such-bucket/state/lock: there is no such bucket"),
        open_state("s3://no-such-bucket/state/", writes=True),
    ):
        pass


def test_without_its_client_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditional_objects, "find_spec", lambda _: None)
    with pytest.raises(InputError, match="a state on a store needs obstore and boto3") as caught:
        read_states(STATE)
    assert caught.value.hint == "pip install obstore boto3"


def test_a_state_folder_that_was_copied_there_counts_until_a_run_has_written(place: S3) -> None:
    for name, text in texts_of(state(300)).items():
        place.put(STATE + name, text.encode())
    assert read_states(STATE) == (state(300),)
    save(state(400))
    assert read_states(STATE) == (state(400),)


def test_no_state_at_all_is_said_where_one_is_only_read(place: S3) -> None:
    with pytest.raises(InputError, match=f"{STATE}: no such state folder"):
        read_states(STATE)
    assert place.objects(STATE) == {}


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b'{"schema_version": 2}', b'{"schema_version": 1, "states": [{"delete-horizons": 7}]}'],
)
def test_an_object_that_kcompact_did_not_write_is_refused_and_stays(content: bytes, place: S3) -> None:
    place.put(OBJECT, content)
    with pytest.raises(InputError, match=f"{OBJECT}: not written by kcompact"):
        save(state(300))
    assert place.objects(STATE) == {"state.json": content}


def test_texts_that_do_not_belong_together_are_refused(place: S3) -> None:
    save(state(300))
    said = json.loads(place.get(OBJECT))
    said["states"][0]["cleaner-offset-checkpoint"] = "0\n1\norders 0 400\n"
    place.put(OBJECT, json.dumps(said).encode())
    with pytest.raises(
        InputError, match=f"{OBJECT}/cleaner-offset-checkpoint: not the file that output.json"
    ):
        read_states(STATE)
