"""HDFS and YARN of one node on loopback, and Hadoop's client library, which no package brings for pyarrow.

The servers are Hadoop's own "mini cluster" from Maven Central. The library, libhdfs, is compiled from its
sources as a crate carries them. That takes Maven, a JDK, a C compiler and Cargo, and some 200 MB.
"""

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine_runs import FULL_JDK
from spark_cluster import cluster_environment

HERE = Path(__file__).parents[1] / "cluster" / "hadoop"
SECONDS_TO_FETCH = 600
SECONDS_TO_START = 300
SECONDS_TO_STOP = 20
_CRATE = """
[package]
name = "hadoop"
version = "1.0.0"
edition = "2021"
[dependencies]
hdfs-sys = "=0.3.1"
"""
_SOURCES = ("exception.c", "jni_helper.c", "jclasses.c", "hdfs.c", "os/posix/*.c")


@dataclass(frozen=True)
class Hadoop:
    """A running cluster: the address of its HDFS, and the environment of a client of it and of YARN."""

    hdfs: str
    environment: dict[str, str]


@contextmanager
def hadoop_cluster(folder: Path) -> Iterator[Hadoop]:
    """Servers whose files lie below ``folder``, until the context ends."""
    assert FULL_JDK is not None
    _run(
        "mvn",
        "-q",
        "-B",
        "-f",
        HERE / "pom.xml",
        "dependency:copy-dependencies",
        f"-DoutputDirectory={folder / 'jars'}",
    )
    library = _compiled_client(folder)
    sparks = Path(cluster_environment()["SPARK_HOME"]) / "jars"
    log = folder / "hadoop.log"
    line = [f"{FULL_JDK}/bin/java", "-Xmx700m", "--add-opens=java.base/java.lang=ALL-UNNAMED"]
    line += ["-cp", f"{folder / 'jars'}/*:{sparks}/*", str(HERE / "MiniHadoop.java"), str(folder)]
    with log.open("wb") as sink:
        # It ends when its standard input is closed, and so with this process, however that ends.
        process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=sink, stderr=sink, cwd=folder)
    try:
        hdfs = _await_ready(process, log)
        settings = folder / "conf"
        class_path = [*map(str, sorted(sparks.glob("*.jar"))), str(settings)]
        environment = cluster_environment() | {
            "HADOOP_CONF_DIR": str(settings),
            "CLASSPATH": ":".join(class_path),
            "ARROW_LIBHDFS_DIR": str(library.parent),
        }
        yield Hadoop(hdfs, environment)
    finally:
        process.communicate(timeout=SECONDS_TO_STOP)


def _compiled_client(folder: Path) -> Path:
    crate, library = folder / "crate", folder / "library" / "libhdfs.so"
    (crate / "src").mkdir(parents=True)
    library.parent.mkdir()
    (crate / "src" / "lib.rs").touch()
    (crate / "Cargo.toml").write_text(_CRATE)
    _run("cargo", "vendor", "--quiet", "--versioned-dirs", crate / "vendor", cwd=crate)
    sources = crate / "vendor" / "hdfs-sys-0.3.1" / "libhdfs"
    newest, java = sources / "hdfs_3_3", Path(str(FULL_JDK))
    includes = [sources, newest, newest / "include", newest / "os", newest / "os/posix"]
    includes += [java / "include", java / "include/linux"]
    _run(
        *("gcc", "-shared", "-fPIC", "-w", "-o", library, *(f"-I{path}" for path in includes)),
        *(path for pattern in _SOURCES for path in newest.glob(pattern)),
        *(f"-L{java}/lib/server", f"-Wl,-rpath,{java}/lib/server", "-ljvm", "-ldl", "-lpthread"),
    )
    return library


def _run(*line: object, cwd: Path | None = None) -> None:
    run = subprocess.run(
        list(map(str, line)), cwd=cwd, capture_output=True, text=True, timeout=SECONDS_TO_FETCH, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def _await_ready(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """The address of HDFS, which the servers print once they are there."""
    deadline = time.monotonic() + SECONDS_TO_START
    while not (ready := re.search(r"^ready (\S+)$", log.read_text(errors="replace"), re.MULTILINE)):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(log.read_text(errors="replace")[-3000:])
        time.sleep(0.2)
    return ready[1]
