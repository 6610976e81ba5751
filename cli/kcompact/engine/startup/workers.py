"""Starts the first Python worker while Spark still starts: a worker takes as long as Spark's context.

Spark looks idle workers up by their environment. This worker has the environment that tasks ask for (as of
Spark 4.3, ``BasePythonRunner.compute``); if tasks ever ask for another one, it is simply not used.
"""

import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from kcompact.engine.startup.worker_daemon import DAEMON_MODULE

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

LAYOUTS = "KCOMPACT_LAYOUTS"  # the variable with the layouts whose loops workers will need
WORKER_MODULES = "KCOMPACT_WORKER_MODULES"  # the variable with the modules that their tasks will need
_WORKER_MODULE = "pyspark.worker"
_SECONDS = 20  # after which the first task starts a worker of its own
WORKER_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONSAFEPATH": "1",
    "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1",
    "PYTHON_UDF_BATCH_SIZE": "100",
    "SPARK_AUTH_SOCKET_TIMEOUT": "15",
    "SPARK_BUFFER_SIZE": "65536",
    "SPARK_JOB_ARTIFACT_UUID": "default",
    "SPARK_PYTHON_RUNTIME": "PYTHON_WORKER",
    "SPARK_REUSE_WORKER": "1",
}


_waking: list[threading.Thread] = []  # at most one


def wake_worker(gateway: "JavaGateway") -> None:
    """Start a worker, from a thread, as soon as the context that is being built can start one."""
    waking = threading.Thread(target=_wake, args=(gateway,), name="wake-worker", daemon=True)
    waking.start()
    _waking[:] = [waking]


def wait_for_worker() -> None:
    """Wait until the worker is there, if one is being started. To be called before a job.

    Tasks that come before it would start workers of their own, so that it would be one worker too many: 70 to
    140 MB. They would not start sooner, as they wait for the same daemon.
    """
    while _waking:
        _waking.pop().join(_SECONDS)


def _wake(gateway: "JavaGateway") -> None:
    from py4j.protocol import Py4JError

    try:
        spark = _SparkEnv(gateway.jvm)
        if spark.has_folders():
            spark.start_and_release_worker()
    except (Py4JError, OSError):
        return  # Java is gone, or this worker cannot be started: tasks start their own


class _SparkEnv:
    """Spark's ``SparkEnv``, called through method handles.

    py4j inspects all methods of a class before it calls one, and one method of this class refers to a class
    of protobuf, which PySpark's jars lack. A method handle refers to its own method only.
    """

    def __init__(self, vm: Any) -> None:
        self._vm = vm
        self._class = self._class_of("org.apache.spark.SparkEnv")
        self._lookup = vm.java.lang.invoke.MethodHandles.publicLookup()

    def has_folders(self) -> bool:
        """Wait for a ``SparkEnv`` whose block manager knows its folders; False if there is none in time."""
        get = self._lookup.findStatic(self._class, "get", self._signature(self._class))
        block_manager = self._method("blockManager", self._class_of("org.apache.spark.storage.BlockManager"))
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            self._environment = get.invokeWithArguments(self._list())
            if self._environment is not None:
                self._block_manager = block_manager.invokeWithArguments(self._list(self._environment))
                if self._block_manager is not None:
                    return True
            time.sleep(0.01)
        return False

    def start_and_release_worker(self) -> None:
        """Start one worker, and put it where the first task looks for an idle one."""
        text, variables = self._class_of("java.lang.String"), self._class_of("scala.collection.immutable.Map")
        flag = self._vm.java.lang.Boolean.TYPE
        pair = self._class_of("scala.Tuple2")
        worker_class = self._class_of("org.apache.spark.api.python.PythonWorker")
        nothing = self._vm.java.lang.Void.TYPE
        create = self._method("createPythonWorker", pair, text, text, text, variables, flag)
        release = self._method("releasePythonWorker", nothing, text, text, text, variables, worker_class)

        arguments = (self._environment, sys.executable, _WORKER_MODULE, DAEMON_MODULE, self._variables())
        worker = create.invokeWithArguments(self._list(*arguments, True)).productElement(0)
        release.invokeWithArguments(self._list(*arguments, worker))

    def _variables(self) -> Any:
        variables = self._vm.java.util.HashMap()
        for name, value in WORKER_ENVIRONMENT.items():
            variables.put(name, value)
        folders = self._block_manager.diskBlockManager().localDirs()
        variables.put("SPARK_LOCAL_DIRS", ",".join(folder.getPath() for folder in folders))
        return self._vm.PythonUtils.toScalaMap(variables)

    def _method(self, name: str, result: Any, *parameters: Any) -> Any:
        return self._lookup.findVirtual(self._class, name, self._signature(result, *parameters))

    def _signature(self, result: Any, *parameters: Any) -> Any:
        return self._vm.java.lang.invoke.MethodType.methodType(result, self._list(*parameters))

    def _class_of(self, name: str) -> Any:
        return self._vm.java.lang.Class.forName(name)

    def _list(self, *items: Any) -> Any:
        java_list = self._vm.java.util.ArrayList()
        for item in items:
            java_list.add(item)
        return java_list
