"""Our own package as a zip, for workers on other machines; they have to have its requirements installed."""

import zipfile
from pathlib import Path

import kcompact


def zip_package(folder: Path) -> Path:
    """Write ``kcompact.zip`` into ``folder``: what ``addPyFile`` and ``addArtifacts`` take."""
    package = Path(kcompact.__file__).parent
    target = folder / "kcompact.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for module in sorted(package.rglob("*.py")):
            archive.write(module, module.relative_to(package.parent))
    return target
