"""Whether anything listens at the address of a master: Spark would go on trying for minutes."""

import os
import re
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

from kcompact.engine.masters import MasterKind
from kcompact.errors import EngineError

_SECONDS_TO_REACH = 10
_DEFAULT_PORTS = {MasterKind.STANDALONE: 7077, MasterKind.KUBERNETES: 443, MasterKind.YARN: 8032}
_SERVERS = {MasterKind.KUBERNETES: "Kubernetes server", MasterKind.YARN: "resource manager of YARN"}
_CONNECT_PORT = 15002
_RESOURCE_MANAGER = re.compile(r"yarn\.resourcemanager\.(address|hostname)(\.[^.]+)?")


def refuse_unreachable(kind: MasterKind, master: str) -> None:
    """Raise EngineError if nothing listens at any address of a master."""
    if kind is MasterKind.YARN:
        addresses = _resource_managers()
    else:
        addresses = master.partition("://")[2].removeprefix("https://").removeprefix("http://").split(",")
    port = _DEFAULT_PORTS[kind]
    problems = [problem for address in addresses if (problem := _problem(address, port)) is not None]
    if problems and len(problems) == len(addresses):
        where = "yarn-site.xml" if kind is MasterKind.YARN else "--master"
        raise EngineError(
            f"no {_SERVERS.get(kind, 'Spark master')} can be reached at {problems[0]}",
            hint=f"look at the address in {where}",
        )


def refuse_unreachable_server(url: str) -> None:
    """Raise EngineError if nothing listens at ``url``: Connect's own client would try for many minutes."""
    address = urlsplit(url)
    problem = connection_problem(address.hostname or "localhost", address.port or _CONNECT_PORT)
    if problem is not None:
        raise EngineError(
            f"no Spark Connect server can be reached at {problem}",
            hint="look at the address in --remote or --master, and whether the server runs",
        )


def connection_problem(host: str, port: int) -> str | None:
    """The address, and why nothing answers there, or None if something does."""
    try:
        socket.create_connection((host, port), timeout=_SECONDS_TO_REACH).close()
    except (OSError, UnicodeError) as error:
        return f"{host}:{port}: {getattr(error, 'strerror', None) or error}"
    return None


def _problem(address: str, default_port: int) -> str | None:
    host, _, port = address.partition("/")[0].rpartition(":")
    return connection_problem(*((host, int(port)) if port.isdigit() else (address, default_port)))


def _resource_managers() -> list[str]:
    """Addresses of YARN's resource managers; none if ``yarn-site.xml`` does not give them literally.

    Raises EngineError if no environment variable names the folder of that file.
    """
    folder = os.environ.get("YARN_CONF_DIR") or os.environ.get("HADOOP_CONF_DIR")
    if folder is None:
        raise EngineError(
            "--master yarn: neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set",
            hint="set one to the folder with yarn-site.xml and core-site.xml",
        )
    site = ET.Element("configuration")
    with suppress(OSError, ET.ParseError):  # which Spark's client reports
        site = ET.fromstring(Path(folder, "yarn-site.xml").read_bytes())  # noqa: S314  the user's own
    stated: dict[str, list[str]] = {"address": [], "hostname": []}
    for setting in site.iter("property"):
        name, value = (setting.findtext(tag, "").strip() for tag in ("name", "value"))
        if (match := _RESOURCE_MANAGER.fullmatch(name)) and value and "${" not in value:
            stated[match[1]].append(value)
    return stated["address"] or stated["hostname"]
