"""Dumps on Google's and on Azure's store, in and out, against emulators of them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from other_stores import ACCOUNT, AZURITE_KEY, OtherStore, azure_server, azure_token, gs_server
from store_runs import SAMPLE, records_of, run_kcompact

pytestmark = pytest.mark.spark
NOW = ("--now", "1760030000000")


@pytest.fixture(scope="module", params=["gs", pytest.param("azure", marks=pytest.mark.at_length)])
def other_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OtherStore]:
    server = {"gs": gs_server, "azure": azure_server}[request.param]
    with server(tmp_path_factory.mktemp(request.param)) as store:
        store.put("orders/orders.jsonl", SAMPLE.read_bytes())
        yield store


def test_a_prefix_is_compacted_into_one_whose_name_begins_alike(
    other_store: OtherStore, tmp_path: Path
) -> None:
    here = run_kcompact("compact", SAMPLE, "-o", tmp_path / "o.jsonl", *NOW, environment={}, folder=tmp_path)
    assert here.returncode == 0, here.stderr
    dump, compacted = f"{other_store.root}orders/", f"{other_store.root}orders.compacted/"

    def run(*arguments: object) -> tuple[int, str]:
        done = run_kcompact(*arguments, environment=other_store.environment, folder=tmp_path)
        return done.returncode, done.stderr

    assert run("compact", *NOW, dump, "-o", compacted) == (0, "")
    first = other_store.objects("orders.compacted/")
    assert records_of(first) == (tmp_path / "o.jsonl").read_bytes()
    assert {"report.json", "removed-keys.csv"} <= other_store.objects("orders.compacted.report/").keys()
    assert run("verify", dump, compacted, *NOW) == (0, "")

    code, error = run("compact", *NOW, dump, "-o", compacted)
    assert (code, f"{compacted} exists already" in error) == (2, True)
    assert run("compact", *NOW, dump, "-o", compacted, "--overwrite", "--drop-tombstones") == (0, "")
    second = other_store.objects("orders.compacted/")
    assert set(first) & set(second) == {"_SUCCESS", "_kcompact.json"}
    assert len(second) == len(first)
    assert other_store.objects("orders/") == {"orders.jsonl": SAMPLE.read_bytes()}


def test_a_bucket_that_is_not_there_is_named(other_store: OtherStore, tmp_path: Path) -> None:
    address = other_store.root.replace("bucket", "bouquet") + "orders/"
    for line in (("inspect", address), ("compact", SAMPLE, "-o", address)):
        run = run_kcompact(*line, environment=other_store.environment, folder=tmp_path)
        assert (run.returncode, run.stdout) == (2, "")
        assert f"error: {address}: there is no such bucket" in run.stderr


@pytest.mark.at_length
def test_a_state_lies_beside_the_dump_on_azure(tmp_path: Path) -> None:
    with azure_server(tmp_path) as store:
        store.put("orders/orders.jsonl", SAMPLE.read_bytes())
        line = ("compact", f"{store.root}orders/", "-o", f"{store.root}night/", "--overwrite", "-q")
        for _ in range(2):
            run = run_kcompact(
                *line, "--state", f"{store.root}state/", environment=store.environment, folder=tmp_path
            )
            assert (run.returncode, run.stderr) == (0, "")
        assert list(store.objects("state/")) == ["state.json"]


def test_an_aborted_file_of_a_delta_table_is_left_out_of_one_of_its_folders(
    other_store: OtherStore, tmp_path: Path
) -> None:
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    other_store.put("table/day=1/a.jsonl", b"".join(lines[:300]))
    other_store.put("table/day=1/b.jsonl", b"".join(lines[300:]))
    other_store.put("table/_delta_log/00000000000000000000.json", b'{"add":{"path":"day=1/a.jsonl"}}\n')
    line = ("inspect", f"{other_store.root}table/day=1/", "--format", "json")
    run = run_kcompact(*line, environment=other_store.environment, folder=tmp_path)
    assert run.returncode == 0, run.stderr
    assert sum(log["records"] for log in json.loads(run.stdout)["logs"]) == 300
    assert "_delta_log does not list it" in run.stderr


@pytest.mark.at_length
@pytest.mark.parametrize(("rights", "code"), [("rwdl", 0), ("rl", 2)])
def test_a_token_of_azure_opens_a_container(tmp_path: Path, rights: str, code: int) -> None:
    with azure_server(tmp_path) as store:
        store.put("orders/orders.jsonl", SAMPLE.read_bytes())
        stated = store.environment["AZURE_STORAGE_CONNECTION_STRING"]
        token = azure_token(rights)
        environment = {
            "AZURE_STORAGE_CONNECTION_STRING": stated.replace(
                f"AccountKey={AZURITE_KEY}", f"SharedAccessSignature={token}"
            )
        }
        line = ("compact", f"{store.root}orders/", "-o", f"{store.root}out/", "-q", "--no-report")
        run = run_kcompact(*line, environment=environment, folder=tmp_path)
        assert run.returncode == code, run.stderr
        assert ("_SUCCESS" in store.objects("out/")) == (code == 0)
        assert ("the store refuses these credentials" in run.stderr) == (code == 2)
        assert token[-20:] not in run.stdout + run.stderr


@pytest.mark.at_length
def test_a_wrong_key_of_azure_is_a_refusal(tmp_path: Path) -> None:
    with azure_server(tmp_path) as store:
        stated = store.environment["AZURE_STORAGE_CONNECTION_STRING"].replace("Eby8", "Eby9")
        for line in (("inspect", f"{store.root}x/"), ("compact", SAMPLE, "-o", f"{store.root}x/")):
            run = run_kcompact(
                *line, environment={"AZURE_STORAGE_CONNECTION_STRING": stated}, folder=tmp_path
            )
            assert (run.returncode, run.stdout) == (2, "")
            assert "the store refuses these credentials" in run.stderr
            assert ACCOUNT in run.stderr
            assert "Eby9" not in run.stderr
