"""Stores that fail in the middle of whole runs: the right result, or one sentence and nothing left behind."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from s3_server import S3
from store_proxy import CUT, Fault, Proxy, Request, store_proxy
from store_runs import put_large, records_of, run_kcompact

pytestmark = pytest.mark.spark
IN, OUT = "s3://bucket/in/", "s3://bucket/out/"
SECONDS_OF_TROUBLE = 10
OBJECTS = 2
PASSES = 3  # each begins with a look at the object: opening, indexing, copying


@pytest.fixture
def proxy(store: S3) -> Iterator[Proxy]:
    put_large(store, IN)
    with store_proxy(store) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def survivors(store: S3, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What a run without faults leaves."""
    put_large(store, IN)
    run = run_kcompact(
        *("compact", IN, "-o", "s3://bucket/right/", "-q"),
        environment=store.environment,
        folder=tmp_path_factory.mktemp("right"),
    )
    assert run.returncode == 0, run.stderr
    return records_of(store.objects("s3://bucket/right/"))


def compact_with(proxy: Proxy, folder: Path, fault: Fault, *options: str) -> tuple[int, str]:
    """A run through the proxy, and what it says; nothing is there before."""
    for address in (OUT, "s3://bucket/out.report/"):
        proxy.store.remove(address)
    proxy.fault = fault
    line = ("compact", IN, "-o", OUT, "-q", *options)
    run = run_kcompact(*line, environment=proxy.store.environment, folder=folder)
    proxy.fault = lambda _: None
    return run.returncode, run.stderr


def is_reading(request: Request) -> bool:
    return request.method == "GET" and "/in/" in request.path


def is_writing(request: Request) -> bool:
    return request.method in {"PUT", "POST"} and "/out/" in request.path


def busy_for_a_while(request: Request, since: dict[str, float]) -> int | None:
    """503 for some seconds from the first request of each kind on."""
    kind = "reading" if is_reading(request) else "writing" if is_writing(request) else ""
    if not kind:
        return None
    begun = since.setdefault(kind, time.monotonic())
    return 503 if time.monotonic() - begun < SECONDS_OF_TROUBLE else None


def test_a_store_that_is_busy_for_ten_seconds_costs_nothing_but_time(
    proxy: Proxy, tmp_path: Path, survivors: bytes
) -> None:
    since: dict[str, float] = {}

    code, said = compact_with(proxy, tmp_path, lambda request: busy_for_a_while(request, since))

    assert code == 0, said
    assert set(since) == {"reading", "writing"}
    assert records_of(proxy.store.objects(OUT)) == survivors


@pytest.mark.at_length
@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (503, "the store does not answer, even after many attempts"),
        (403, "the store refuses these credentials"),
    ],
)
def test_a_store_that_no_longer_answers_is_no_fault_of_an_object(
    status: int, sentence: str, proxy: Proxy, tmp_path: Path
) -> None:
    """Left out with ``--keep-going``, the object's log would be missing in what is published."""

    def fault(request: Request) -> int | None:
        return status if request.path.endswith("large-1.jsonl") else None

    code, said = compact_with(proxy, tmp_path, fault, "--keep-going")

    assert (code, said.count("error:")) == (2, 1), said
    assert said.startswith(f"error: {IN}large-1.jsonl: {sentence}\n")
    assert proxy.store.objects(OUT) == proxy.store.objects("s3://bucket/out.report/") == {}


@pytest.mark.at_length
def test_connections_that_break_in_the_middle_of_objects_change_nothing(
    proxy: Proxy, tmp_path: Path, survivors: bytes
) -> None:
    cut: list[str] = []

    def break_twice(request: Request) -> str | None:
        if not is_reading(request) or cut.count(request.path) == 2:
            return None
        cut.append(request.path)
        return CUT

    code, said = compact_with(proxy, tmp_path, break_twice)

    assert code == 0, said
    assert len(cut) == 2 * OBJECTS
    assert records_of(proxy.store.objects(OUT)) == survivors


@pytest.mark.at_length
@pytest.mark.parametrize(
    ("path", "method"),
    [
        pytest.param("", "GET", id="wrong credentials"),
        pytest.param("/out/_unfinished", "PUT", id="no permission to write"),
        pytest.param("/out/part-", "PUT", id="no permission to write parts"),
        pytest.param("/out/_kcompact.json", "PUT", id="no permission to write the manifest"),
    ],
)
def test_what_the_store_refuses_is_said_in_a_sentence_and_nothing_is_left(
    path: str, method: str, proxy: Proxy, tmp_path: Path
) -> None:
    same = {method, "POST"} if method == "PUT" else {"GET", "HEAD", "PUT", "POST", "DELETE"}

    code, said = compact_with(
        proxy, tmp_path, lambda request: 403 if request.method in same and path in request.path else None
    )

    assert code == 2, said
    assert "the store refuses these credentials" in said.splitlines()[0]
    assert said.count("error:") == 1
    assert "Traceback" not in said
    assert proxy.store.objects(OUT) == proxy.store.objects("s3://bucket/out.report/") == {}


@pytest.mark.at_length
@pytest.mark.parametrize("method", ["HEAD", "GET"])  # before it is looked at, or right after that
def test_an_object_that_changes_between_the_passes_ends_the_run(
    method: str, proxy: Proxy, store: S3, tmp_path: Path
) -> None:
    content = store.get(f"{IN}large-1.jsonl")
    looked: list[str] = []

    def change_it(request: Request) -> None:
        if request.path.endswith("large-1.jsonl"):
            looked.append(request.method)
            if looked.count("HEAD") == PASSES and request.method == method:
                store.put(f"{IN}large-1.jsonl", content.replace(b'"key":"key-7"', b'"key":"key-8"'))

    code, said = compact_with(proxy, tmp_path, change_it)

    assert (code, said.count("error:")) == (2, 1), said
    assert f"{IN}large-1.jsonl changed while it was read" in said
    assert proxy.store.objects(OUT) == {}
