"""Print what pip is to install: VERSION, else the sources that this action came with.

And a digest that changes with what it names, for the key of the cache.
"""

import hashlib
import os
from pathlib import Path

version = os.environ.get("VERSION", "")
sources = Path(version or Path(__file__).resolve().parents[3])
digest = hashlib.sha256(version.encode())
for path in sorted([sources / "pyproject.toml", *sources.glob("cli/**/*")]):
    if path.is_file() and path.suffix != ".pyc":
        digest.update(f"{path.relative_to(sources)}\0".encode() + path.read_bytes())
print(f"install={version or sources}", f"digest={digest.hexdigest()}", sep="\n")
