"""The inspection in all its forms but HTML: on a terminal, as Markdown, as JSON, for CI servers.

JSON has ``schema_version``, then the same names as the value itself. A key is written as text
(``key``, in its printable form) and as its bytes (``key_base64``).
"""

from base64 import b64encode
from dataclasses import fields, is_dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from kcompact.inert import json_document, markdown
from kcompact.inspect.inspection import SCHEMA_VERSION, Inspection
from kcompact.inspect.severity import InspectFinding, Level
from kcompact.printable import printable_key, terminal
from kcompact.report.ci import CiCase, CiFinding, CiLevel, CiReport
from kcompact.report.inspect.inspection_sections import sections
from kcompact.report.table import markdown_table
from kcompact.report.text_table import print_tables

_STYLES = {"ERROR": "red", "WARNING": "yellow", "NOTE": "dim"}
_LEVELS = {Level.ERROR: CiLevel.ERROR, Level.WARNING: CiLevel.WARNING, Level.NOTE: CiLevel.NOTICE}
_READ = "the dump can be read"


def print_text(inspection: Inspection, console: Console) -> None:
    """Print everything; text from the dump is inert on a terminal and in a CI log."""
    console.print(Text(terminal(inspection.verdict), style="bold"))
    for finding in inspection.findings:
        level = finding.level.name
        line = Text(f"{level.lower()}: ", style=_STYLES[level])
        console.print(line.append(terminal(f"{place(finding)}{finding.text}"), style="default"))
    console.print()
    print_tables(sections(inspection), console)


def place(finding: InspectFinding) -> str:
    """The subject of a finding: ``orders-0: ``, ``orders: `` or nothing."""
    if finding.topic is None:
        return ""
    return f"{finding.topic}: " if finding.partition is None else f"{finding.topic}-{finding.partition}: "


def render_markdown(inspection: Inspection) -> str:
    """The whole report; text from the dump is inert in it."""
    parts = ["# Inspection", markdown(inspection.verdict)]
    lines = [
        f"* **{finding.level.name.lower()}** {markdown(place(finding) + finding.text)}"
        for finding in inspection.findings
    ]
    if lines:
        parts.append("\n".join(lines))
    parts += map(markdown_table, sections(inspection))
    return "\n\n".join(parts) + "\n"


def render_json(inspection: Inspection) -> str:
    """The report as JSON, keys in a stable order; ``run`` holds what differs from run to run."""
    return json_document({"schema_version": SCHEMA_VERSION, "command": "inspect", **_plain(inspection)})


def _plain(value: Any) -> Any:
    if isinstance(value, Level):
        return value.name.lower()
    if is_dataclass(value) and not isinstance(value, type):
        return _plain({field.name: getattr(value, field.name) for field in fields(value)})
    if isinstance(value, dict):
        return {str(name): plain for pair in value.items() for name, plain in _pairs(*pair)}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, (list, tuple)):
        return [_shown_key(item) if isinstance(item, bytes) else _plain(item) for item in value]
    return value


def _pairs(name: Any, value: Any) -> list[tuple[str, Any]]:
    if name == "key" and (value is None or isinstance(value, bytes)):
        return list(_shown_key(value).items())
    return [(str(name), _plain(value))]


def _shown_key(key: bytes | None) -> dict[str, str | None]:
    return {
        "key": None if key is None else printable_key(key),
        "key_base64": None if key is None else b64encode(key).decode(),
    }


def ci_report(inspection: Inspection, failing: Level | None) -> CiReport:
    """A case for each kind of finding, and one that always holds: the dump can be read.

    ``failing`` is the lowest level that fails a case; None: no level does.
    """
    kinds: dict[str, list[InspectFinding]] = {}
    for finding in inspection.findings:
        kinds.setdefault(finding.code, []).append(finding)
    cases = [_ci_case(inspection, code, findings, failing) for code, findings in kinds.items()]
    inputs = ", ".join(file.path for file in inspection.files[:3])
    return CiReport(
        "inspect",
        "dump",
        f"what is in {inputs}?",
        inspection.verdict,
        not any(case.fails for case in cases),
        [CiCase(_READ), *cases],
        inspection.notes,
    )


def _ci_case(
    inspection: Inspection, code: str, findings: list[InspectFinding], failing: Level | None
) -> CiCase:
    file = inspection.files[0].path if len(inspection.files) == 1 else ""
    ci_findings = tuple(
        CiFinding(_LEVELS[finding.level], f"{code}{_where(finding)}", finding.text, file)
        for finding in findings
    )
    fails = failing is not None and any(finding.level >= failing for finding in findings)
    return CiCase(code, ci_findings, len(findings), fails)


def _where(finding: InspectFinding) -> str:
    return f" in {place(finding).removesuffix(': ')}" if finding.topic is not None else ""
