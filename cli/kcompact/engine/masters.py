"""The values of ``--master``, and the kinds of places that they name for Spark's workers."""

import enum
import re

from kcompact.errors import EngineError

_ATTEMPTS = 4  # of each task, as on a cluster
_LOCAL = re.compile(r"local(\[(\*|0*[1-9]\d{0,3})(,\s*0*[1-9]\d{0,3})?\])?")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*\d{1,4}\s*,\s*\d{1,4}\s*,\s*\d{1,9}\s*\]")


class MasterKind(enum.Enum):
    """Where Spark's workers run, as ``--master`` names it."""

    LOCAL = "local[N]: in this machine's one Java"
    LOCAL_CLUSTER = "local-cluster[executors,cores,MiB]: in Java processes of their own on this machine"
    STANDALONE = "spark://host:port: on a Spark cluster"
    CONNECT = "sc://host:port: through a Spark Connect server"
    YARN = "yarn: on a Hadoop cluster"
    KUBERNETES = "k8s://host:port: on Kubernetes"
    SUBMITTED = "inside spark-submit: wherever it says"

    @property
    def is_elsewhere(self) -> bool:
        """Whether workers may be on other machines, with other disks."""
        return self not in {MasterKind.LOCAL, MasterKind.LOCAL_CLUSTER}


def kind_of_master(master: str) -> MasterKind:
    """The kind that a master is of. Raises EngineError for one that is not known."""
    if _LOCAL.fullmatch(master):
        return MasterKind.LOCAL
    if _LOCAL_CLUSTER.fullmatch(master):
        return MasterKind.LOCAL_CLUSTER
    if master.startswith("spark://"):
        return MasterKind.STANDALONE
    if master.startswith("sc://"):
        return MasterKind.CONNECT
    if master == "yarn":
        return MasterKind.YARN
    if master.startswith("k8s://"):
        return MasterKind.KUBERNETES
    raise EngineError(
        f"--master {master} is of no kind that kcompact knows",
        hint="local[4], local-cluster[2,1,1024], spark://host:7077, yarn, k8s://host:443 or sc://host:15002",
    )


def tried_again(master: str) -> str:
    """The master for Spark, with a number of attempts: without one, ``local[N]`` tries no task again."""
    match = _LOCAL.fullmatch(master)
    if match is None or match[3]:
        return master
    return f"local[{match[2] or 1},{_ATTEMPTS}]"
