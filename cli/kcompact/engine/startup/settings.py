"""Spark's settings for one run: the options of a session, and the properties that they become."""

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kcompact.engine.masters import MasterKind, kind_of_master, tried_again
from kcompact.engine.startup.jars import class_path
from kcompact.engine.startup.worker_daemon import DAEMON_MODULE
from kcompact.errors import EngineError

_SIZE = re.compile(r"([0-9]{1,18})([kmgtKMGT]?)")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_LEAST_HEAP_MIB = 512
_LITTLE_SPILLED_BYTES = 64 << 20  # of input


# Below this number of receivers, Spark makes a serializer for each receiver of each task. With thirty
# receivers that was half of the CPU time that Java spent on carrying blocks.
CARRYING = {"spark.shuffle.sort.bypassMergeThreshold": "1"}
"""How Spark carries blocks, on this machine and on clusters."""

# Blocks are compressed already (engine/blocks.py); only between machines it may pay to compress them again.
_CARRYING_ON_ONE_DISK = {"spark.shuffle.compress": "false"}


@dataclass(frozen=True)
class SessionOptions:
    """How Spark is started. ``master`` None: all cores of this machine."""

    master: str | None = None
    driver_memory: str | None = None
    verbose: bool = False
    input_bytes: int = 0
    writes: bool = False  # survivors are copied, which is a part of the progress shown
    layouts: tuple[str, ...] = ()  # whose loops workers are to load before they fork
    worker_modules: tuple[str, ...] = ()  # that workers are to import before they fork
    conf: tuple[tuple[str, str], ...] = ()  # Spark's settings, by name, as the user gave them

    def __post_init__(self) -> None:
        """Raises EngineError for a heap that is too small, even if the session is the caller's own."""
        if self.driver_memory is not None:
            _refuse_heap(self.driver_memory)

    @property
    def master_kind(self) -> MasterKind:
        """Where the workers run. Raises EngineError for a master that is not known."""
        if self.master is None and "PYSPARK_GATEWAY_PORT" in os.environ:
            return MasterKind.SUBMITTED
        return kind_of_master(self.master or "local[*]")

    @property
    def is_elsewhere(self) -> bool:
        """Whether workers may be on other machines, with other disks."""
        return self.master_kind.is_elsewhere


def _refuse_heap(size: str) -> None:
    """Raise EngineError for a heap that Spark refuses: it wants 450 MiB, and Java counts only a part."""
    match = _SIZE.fullmatch(size)
    if match is None:
        raise EngineError(
            f"--driver-memory {size} is not a size", hint="write it as Java does, such as 2g or 800m"
        )
    if int(match[1]) * _UNITS[match[2].lower()] < _UNITS["m"] * _LEAST_HEAP_MIB:
        raise EngineError(
            f"--driver-memory {size} is too little for Spark", hint=f"give it at least {_LEAST_HEAP_MIB}m"
        )


def properties_of(options: SessionOptions) -> dict[str, str]:
    """Spark's properties for a Java that we start. Raises EngineError for a master that is not known."""
    properties = {
        "spark.app.name": "kcompact",
        "spark.master": tried_again(options.master or "local[*]"),
        "spark.submit.deployMode": "client",
        "spark.executorEnv.PYTHONSAFEPATH": "1",  # workers import nothing from the folder they start in
        "spark.ui.enabled": "false",
        **CARRYING,
        # DataFrames share the workers of RDDs where both have the same environment.
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    }
    if options.master_kind is MasterKind.LOCAL:
        properties["spark.authenticate"] = "true"  # other users of this machine can reach loopback as well
    if not options.is_elsewhere:
        properties |= _CARRYING_ON_ONE_DISK
    if options.master_kind is MasterKind.LOCAL_CLUSTER:
        # Java takes the start-up cache only if the class path begins like this.
        properties["spark.executor.extraClassPath"] = os.pathsep.join(map(str, class_path()))
    if not options.is_elsewhere:
        properties["spark.python.daemon.module"] = DAEMON_MODULE
    properties |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    properties["java.net.preferIPv6Addresses"] = "false"  # PySpark asks at 127.0.0.1
    return properties | dict(options.conf)


def spill_root(input_bytes: int) -> Path:
    """The folder for a run's temporary folder: on a disk, not in memory, if much may have to be spilled."""
    usual = Path(tempfile.gettempdir())
    if "TMPDIR" in os.environ or input_bytes <= _LITTLE_SPILLED_BYTES or not _is_in_memory(usual):
        return usual
    on_disk = Path("/var/tmp")  # noqa: S108  only a folder of our own is made in it, by mkdtemp
    return on_disk if on_disk.is_dir() and os.access(on_disk, os.W_OK) else usual


def _is_in_memory(folder: Path) -> bool:
    """Whether the folder's file system is a tmpfs, as far as this system tells."""
    try:
        lines = Path("/proc/mounts").read_bytes().split(b"\n")[:-1]  # bytes: a mount can have any name
    except OSError:
        return False
    mounts = [os.fsdecode(line).split(" ") for line in lines]
    above = [(point, kind) for _device, point, kind, *_ in mounts if folder.is_relative_to(point)]
    return bool(above) and max(above, key=lambda mount: len(mount[0]))[1] in {"tmpfs", "ramfs"}
