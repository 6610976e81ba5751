"""Whose report lies where a run would write its own: that of another dump is not replaced in passing."""

import json
import os
import shlex
from pathlib import Path

from kcompact.errors import OutputError
from kcompact.storage.object_stores import is_address


def refuse_report_of_another(report: Path, result: Path | None, prefix: str | None = None) -> None:
    """Raise OutputError for a report folder that tells of a dump which is still there, and is not this run's.

    ``result`` is where this run's dump goes to, ``prefix`` on a store.
    """
    owner = _owner_of(report)
    if owner is None or owner == prefix or not _is_another(owner, report, result):
        return
    hint = "choose another place with --report"
    if result is not None and _may_take(own_place := result.with_name(f"{result.name}.report"), result):
        hint += f" {shlex.quote(str(own_place))}, or another name with -o"
    raise OutputError(f"{report} exists already, and is the report of {owner}", hint=hint)


def _may_take(report: Path, result: Path) -> bool:
    """Whether nothing is in this place, or a report that is of this run's dump."""
    owner = _owner_of(report)
    return not os.path.lexists(report) or (owner is not None and not _is_another(owner, report, result))


def _owner_of(report: Path) -> str | None:
    """The dump that a report folder tells of, as the run that wrote it named it; None if nobody can tell."""
    try:
        owner = json.loads((report / "report.json").read_bytes())["outputs"][0]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return owner if isinstance(owner, str) and Path(owner).name != report.name else None


def _is_another(owner: str, report: Path, result: Path | None) -> bool:
    if is_address(owner):
        return True  # nobody looks whether it is still there
    places = {os.path.realpath(place) for place in (owner, report.with_name(Path(owner).name))}
    is_own = result is not None and os.path.realpath(result) in places
    return not is_own and any(map(os.path.exists, places))
