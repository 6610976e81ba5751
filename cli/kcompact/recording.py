"""``python -m kcompact.recording CACHE``: make Java's ahead-of-time cache (``engine.startup.aot_cache``).

Nobody watches this process: it prints nothing, and a failure leaves no cache.
"""

import sys
import tempfile
from pathlib import Path

from kcompact.app import main
from kcompact.engine.startup.aot_recording import record

_RECORDS = 2_000
_KEYS = 500


def _train() -> None:
    """Run each command once on a small dump, so that Java meets the classes and methods they need."""
    with tempfile.TemporaryDirectory(prefix="kcompact-recording-") as name:
        before, after, lossy = (Path(name, f"{part}.jsonl") for part in ("training", "after", "lossy"))
        _write_dump(before)
        _run("compact", before, "-o", after)
        _run("compact", before, "-o", after, "--overwrite")
        lossy.write_bytes(b"".join(after.read_bytes().splitlines(keepends=True)[1:]))
        _run("verify", before, lossy)  # a loss, so that the rules are asked
        _run("inspect", before)


def _run(*arguments: object) -> None:
    main([str(argument) for argument in arguments])


def _write_dump(path: Path) -> None:
    """Keys over and over, some tombstones: a dump as ``kcat -J`` writes it."""
    with path.open("w") as out:
        for offset in range(_RECORDS):
            payload = "null" if offset % 7 == 0 else f'"{offset:0180}"'
            out.write(
                f'{{"topic":"training","partition":0,"offset":{offset},"tstype":"create",'
                f'"ts":{1_700_000_000_000 + offset},"key":"{offset % _KEYS}","payload":{payload}}}\n'
            )


if __name__ == "__main__":
    record(Path(sys.argv[1]), _train)
