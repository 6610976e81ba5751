"""Waking the first Python worker while Spark still starts: it takes as long to come up as Spark's context.

Spark keeps idle workers by their environment. The one given here is what its SQL engine asks for (as of
Spark 4.3, ``BasePythonRunner.compute``); if it ever differs, the worker is simply not used.
"""

import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

DAEMON_MODULE = "kcompact.engine.worker_daemon"
_WORKER_MODULE = "pyspark.worker"
_SECONDS = 20  # by then the first task has a worker of its own
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1",
    "PYTHON_UDF_BATCH_SIZE": "100",
    "SPARK_AUTH_SOCKET_TIMEOUT": "15",
    "SPARK_BUFFER_SIZE": "65536",
    "SPARK_JOB_ARTIFACT_UUID": "default",
    "SPARK_PYTHON_RUNTIME": "PYTHON_WORKER",
    "SPARK_REUSE_WORKER": "1",
    "SPARK_SIMPLIFIED_TRACEBACK": "1",
}


def wake_worker(gateway: "JavaGateway") -> None:
    """Have a worker started on a thread, as soon as the context that is being built can start one."""
    threading.Thread(target=_wake, args=(gateway,), name="wake-worker", daemon=True).start()


def _wake(gateway: "JavaGateway") -> None:
    from py4j.protocol import Py4JError

    try:
        environment = _spark_environment(gateway.jvm)
        if environment is not None:
            _start_and_release(gateway.jvm, environment)
    except (Py4JError, OSError):
        return  # Java is gone, or this worker is not to be: tasks start their own


def _spark_environment(vm: Any) -> Any:
    """Spark's ``SparkEnv``, once there is one whose block manager knows its folders."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        environment = vm.org.apache.spark.SparkEnv.get()
        if environment is not None and environment.blockManager() is not None:
            return environment
        time.sleep(0.01)
    return None


def _start_and_release(vm: Any, spark_environment: Any) -> None:
    folders = spark_environment.blockManager().diskBlockManager().localDirs()
    variables = vm.java.util.HashMap()
    for name, value in _ENVIRONMENT.items():
        variables.put(name, value)
    variables.put("SPARK_LOCAL_DIRS", ",".join(folder.getPath() for folder in folders))
    asked = (sys.executable, _WORKER_MODULE, DAEMON_MODULE, vm.PythonUtils.toScalaMap(variables))
    worker = spark_environment.createPythonWorker(*asked, True).productElement(0)
    spark_environment.releasePythonWorker(*asked, worker)
