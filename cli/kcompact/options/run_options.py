"""How a command runs: ``--master``, ``--remote``, ``--conf``, ``--driver-memory``, ``--verbose``, ..."""

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcompact.errors import EngineError
from kcompact.options.groups import OptionGroup, flag, option, repeatable

if TYPE_CHECKING:
    from kcompact.engine.session import SessionOptions

_OPTIONS_OF_OURS = {
    "spark.driver.memory": "--driver-memory",
    "spark.master": "--master",
    "spark.remote": "--remote",
}


@dataclass(frozen=True)
class RunOptions(OptionGroup):
    """The options that every command has; the defaults suit one machine."""

    panel = "Running"
    master: str | None = option(
        "Spark master: local[N], spark://..., yarn, k8s://..., sc://... (default: all cores here)", "URL"
    )
    remote: str | None = option(
        "A Spark Connect server, sc://host:port; the same as --master sc://...", "URL"
    )
    conf: list[str] = repeatable(
        "A setting of Spark, such as spark.executor.memory=4g. Repeatable.", "KEY=VALUE"
    )
    driver_memory: str | None = option(
        "Heap of the JVM, such as 1g. (default: by the size of the input)", "SIZE"
    )
    verbose: bool = flag("Show Spark's own log on stderr, and name files that cannot be read in parallel.")
    quiet: bool = flag(
        "No notes, no progress, no text report; errors and warnings stay, files are written.",
        "--quiet",
        "-q",
    )

    @property
    def master_url(self) -> str | None:
        """``--master`` or ``--remote``. Raises EngineError for both, or for a remote other than ``sc://``."""
        if self.remote is None:
            return self.master
        if self.master is not None or not self.remote.startswith("sc://"):
            raise EngineError(
                f"--remote {self.remote}: a Spark Connect server is named once, as sc://host:port",
                hint="leave --master out, or write --remote sc://host:15002",
            )
        return self.remote

    def session_options(
        self,
        input_bytes: int = 0,
        *,
        writes: bool = False,
        layouts: tuple[str, ...] = (),
        worker_modules: tuple[str, ...] = (),
    ) -> "SessionOptions":
        """How Spark is started."""
        from kcompact.engine.session import SessionOptions  # not for --help and --version

        return SessionOptions(
            self.master_url,
            self.driver_memory,
            self.verbose,
            input_bytes,
            writes=writes,
            layouts=layouts,
            worker_modules=worker_modules,
            conf=self.settings,
        )

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Names and values of ``--conf``. Raises EngineError."""
        pairs = []
        for argument in self.conf:
            name, equals, value = argument.partition("=")
            if not (equals and name.startswith("spark.")):
                raise EngineError(
                    f"--conf {argument}: not a setting of Spark", hint="write --conf spark.executor.memory=4g"
                )
            if (own := _OPTIONS_OF_OURS.get(name)) is not None:
                raise EngineError(f"--conf {name}: {own} sets it", hint=f"write {own} {shlex.quote(value)}")
            pairs.append((name, value))
        return tuple(pairs)
