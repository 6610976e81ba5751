"""Masters that are not there: said at once, by the address that was tried."""

import socket
from pathlib import Path

import pytest

from free_ports import free_port
from kcompact.engine.failures import _root_cause
from kcompact.engine.masters import MasterKind
from kcompact.engine.reachability import refuse_unreachable, refuse_unreachable_server
from kcompact.errors import EngineError

PROPERTY = "<property><name>yarn.resourcemanager.{}</name><value>{}</value></property>"


@pytest.fixture
def closed_port() -> int:
    return free_port()


def _site(folder: Path, *settings: tuple[str, object]) -> None:
    text = "".join(PROPERTY.format(*setting) for setting in settings)
    (folder / "yarn-site.xml").write_text(f"<configuration>{text}</configuration>")


def test_yarn_whose_resource_manager_does_not_answer_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    _site(
        tmp_path,
        ("hostname", "elsewhere"),
        ("address", f"127.0.0.1:{closed_port}"),
        ("address.rm2", "${x}:1"),
    )
    with pytest.raises(
        EngineError, match=f"no resource manager of YARN can be reached at 127.0.0.1:{closed_port}: "
    ) as error:
        refuse_unreachable(MasterKind.YARN, "yarn")
    assert error.value.hint == "look at the address in yarn-site.xml"


def test_yarn_with_a_resource_manager_that_answers_or_is_not_told_is_left_to_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    monkeypatch.setenv("YARN_CONF_DIR", str(tmp_path))
    refuse_unreachable(MasterKind.YARN, "yarn")
    (tmp_path / "yarn-site.xml").write_text("<configuration>")
    refuse_unreachable(MasterKind.YARN, "yarn")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        _site(tmp_path, ("address.rm1", f"127.0.0.1:{closed_port}"), ("address.rm2", f"127.0.0.1:{port}"))
        refuse_unreachable(MasterKind.YARN, "yarn")


def test_yarn_without_its_settings_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(EngineError, match="neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set"):
        refuse_unreachable(MasterKind.YARN, "yarn")


def test_one_of_two_standalone_masters_is_enough(closed_port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        master = f"spark://127.0.0.1:{closed_port},127.0.0.1:{server.getsockname()[1]}"
        refuse_unreachable(MasterKind.STANDALONE, master)
    with pytest.raises(EngineError, match="no Spark master can be reached"):
        refuse_unreachable(MasterKind.STANDALONE, f"spark://127.0.0.1:{closed_port}")


def test_of_javas_errors_the_first_cause_is_told() -> None:
    text = (
        "An error occurred while calling None.JavaSparkContext.\n"
        ": org.apache.spark.SparkException: no scheduler\n"
        "\tat org.apache.spark.SparkContext.x(SparkContext.scala:1)\n"
        "Caused by: java.lang.RuntimeException: in between\n\tat a.b(C.java:2)\n"
        "Caused by: java.lang.ClassNotFoundException: Class a.Mapping not found\n\t... 40 more\n"
    )
    assert _root_cause(text) == " (ClassNotFoundException: Class a.Mapping not found)"
    assert _root_cause("no cause") == ""


def test_a_connect_server_that_does_not_answer_is_refused_by_either_option(closed_port: int) -> None:
    with pytest.raises(EngineError, match=f"can be reached at 127.0.0.1:{closed_port}: ") as error:
        refuse_unreachable_server(f"sc://127.0.0.1:{closed_port}")
    assert "--remote" in str(error.value.hint)
    assert "--master" in str(error.value.hint)
