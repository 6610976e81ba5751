"""A command line in a process that does everything but the work of Spark, for runs that are killed.

``without_spark.py "600 1" keep FOLDER compact ...`` runs it to its end and keeps the results of Spark's work;
``... find FOLDER compact ...`` takes these results, in a fraction of the time, and writes the files of tasks.
The first argument gives the seconds after which a lock on a store is renewed, and after which taken over.
"""

import pickle
import shutil
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from kcompact.app import main
from kcompact.commands import compact_run
from kcompact.commands.incoming import opening
from kcompact.dumps.output import outputs
from kcompact.engine import session
from kcompact.storage import lease
from kcompact.storage.object_stores import is_address, list_objects, read, write

_compact_dump = compact_run.compact_dump


def keep(kept: Path, output: str) -> None:
    """Keep the result, the driver's work folder and the objects that tasks wrote."""

    def compact_dump(spark: Any, dump: Any, request: Any) -> Any:
        done = _compact_dump(spark, dump, request)
        shutil.copytree(request.folder, kept / "work")
        written = list_objects(output) if is_address(output) else []
        made = {one.address: read(one.address) for one in written if "_unfinished-" not in one.address}
        (kept / "done").write_bytes(pickle.dumps((done, made)))
        return done

    compact_run.compact_dump = compact_dump


def find(kept: Path) -> None:
    """Use the kept results in place of Spark's work."""

    def compact_dump(_spark: Any, _dump: Any, request: Any) -> Any:
        done, made = pickle.loads((kept / "done").read_bytes())  # noqa: S301  of a process of this test
        shutil.copytree(kept / "work", request.folder, dirs_exist_ok=True)
        for address, content in made.items():
            write(address, content)
        return done

    compact_run.compact_dump = compact_dump
    compact_run.prepare_soon = lambda _page: None  # type: ignore[assignment]  # it would only save time
    opening.open_session = lambda _options: nullcontext()  # type: ignore[assignment]  # never asked for a task
    session.spark_started = lambda _options: nullcontext()  # type: ignore[assignment]  # nor is Java


if __name__ == "__main__":
    seconds, mode, folder, *line = sys.argv[1:]
    outputs.letters = lambda count: "k" * count  # the names of parts are those that were kept
    lease.RENEWED_SECONDS, lease.TAKEN_OVER_SECONDS = map(float, seconds.split())
    if mode == "keep":
        keep(Path(folder), line[line.index("-o") + 1])
    else:
        find(Path(folder))
    sys.exit(main(line))
