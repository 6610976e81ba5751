"""A verification as Markdown, for tickets and pull requests."""

from collections.abc import Iterator

from kcompact.report.inert import markdown, markdown_code
from kcompact.report.markdown_table import markdown_table
from kcompact.report.verify.verify_tables import answer_tables
from kcompact.report.verify.verify_words import Keys, answer, hidden, place, question, sentence
from kcompact.verify.outcome import Outcome

MOST_ROWS = 200


def render_markdown(outcome: Outcome, keys: Keys) -> str:
    """The whole answer; text from the dumps is inert in it."""
    parts = ["# Verification", f"{markdown(question(outcome))} **{markdown(answer(outcome))}**"]
    parts += filter(None, ["\n".join([*_findings(outcome, keys), *_assumed(outcome)])])
    tables = [table.shortened(MOST_ROWS, "--format json has all") for table in answer_tables(outcome, keys)]
    parts += [markdown_table(table) for table in tables if table.rows]
    return "\n\n".join(parts) + "\n"


def _findings(outcome: Outcome, keys: Keys) -> Iterator[str]:
    for finding in outcome.findings:
        where = markdown_code(place(finding))
        text = markdown_code(sentence(finding, keys))  # no mention of anybody rings there
        yield f"* **{finding.severity.value}** {finding.check} in {where}: {text}"
    for check, count in hidden(outcome).items():
        yield f"* {count:,} more {check}: --max-findings and --format json show more"


def _assumed(outcome: Outcome) -> Iterator[str]:
    kind = "note" if outcome.mode == "compacted" else "assumed"
    for text in outcome.assumed:
        yield f"* **{kind}** {markdown(text)}"
    for path, digest in outcome.sha256.items():
        yield f"* SHA-256 of {markdown_code(path)}: {markdown_code(digest)}"
