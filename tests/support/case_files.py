"""Reads the cases in ``tests/cases``: logs of the broker model, steps, and the results expected."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from broker_log import Config, ModelBatch, ModelLog, ModelSegment
from broker_sizes import batch_bytes
from kcompact.dumps.records.record import Record

CASES = Path(__file__).parents[1] / "cases"
T0 = 1_400_000_000_000
MARKER_BYTES = 78

_TOKEN = re.compile(r"\{[^}]*\}|\S+")
_RECORD = re.compile(r"(\d+):([^=]*)=([^@]*)(?:@(-?\d+))?")
_MARKER = re.compile(r"([CA])(\d+):(\d+)(?:@(-?\d+))?")
_PAIR = re.compile(r"([\w.]+)=(\{[^}]*\}|\[[^\]]*\]|\S+)")


@dataclass(frozen=True)
class Step:
    """One step of a case: an ``add``, a round or a question."""

    kind: str  # "add", "P" or "Q"
    text: str
    given: dict[str, str] = field(default_factory=dict)
    expected: dict[str, str] = field(default_factory=dict)

    @property
    def is_forced(self) -> bool:
        return "forced re-scan" in self.text

    @property
    def now_ms(self) -> int:
        text = self.given["now"]
        return T0 + int(text.removeprefix("T0+")) if text.startswith("T0") else int(text)


@dataclass(frozen=True)
class Case:
    """One case on one log."""

    name: str
    config: Config
    mtimes: tuple[int, ...]
    log: str
    steps: tuple[Step, ...]

    def open(self) -> ModelLog:
        """The log of the case before its first step."""
        model = ModelLog([], 0, 0, 0)
        append(model, self.log)
        for segment, mtime_ms in zip(model.segments, self.mtimes, strict=False):
            segment.mtime_ms = mtime_ms
        return model


def read_cases() -> list[Case]:
    """Every case of every file; a case of several logs is one case each."""
    return [case for path in sorted(CASES.glob("*.txt")) for case in _blocks(path.read_text())]


def _blocks(text: str) -> Iterator[Case]:
    for block in text.strip().split("\n\n"):
        name, *lines = block.splitlines()
        config = next((line[6:] for line in lines if line.startswith("cfg")), "")
        log = next(line[6:] for line in lines if line.startswith("in"))
        steps = [_step(line) for line in lines if re.match(r"P\d|Q|add", line)]
        mtimes = tuple(int(ms) for ms in _after(config, r"mtimes=([\d,]+)", "").split(",") if ms)
        parts = re.split(r"(\w+-\d+): ", log)
        if len(parts) == 1:
            yield Case(name, _config(config), mtimes, log, tuple(steps))
        for log_name, part in zip(parts[1::2], parts[2::2], strict=True):
            mine = tuple(step for step in steps if step.text.startswith(log_name))
            yield Case(f"{name}-{log_name}", _config(config), mtimes, part, mine)


def _config(text: str) -> Config:
    limit = _after(text, r"limit (\d+) key", "")
    return Config(
        offset_map_limit=int(limit) if limit else None,
        delete_retention_ms=int(_after(text, r"delete\.retention\.ms=(\d+)", "86400000")),
        segment_bytes=int(_after(text, r"segment\.bytes=(\d+)", str(1 << 30))),
    )


def _after(text: str, pattern: str, default: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else default


def _step(line: str) -> Step:
    word, text = line[:6].strip(), line[6:]
    if word == "add":
        return Step("add", text)
    given, _, expected = text.partition("->")
    return Step(word[0], text, dict(_PAIR.findall(given)), dict(_PAIR.findall(expected)))


def append(model: ModelLog, text: str) -> None:
    """Append batches, markers and segment starts to a log."""
    new_at: int | None = 0 if not model.segments else None
    for token in _TOKEN.findall(text):
        if token.startswith("|"):
            new_at = int(token[1:]) if len(token) > 1 else -1
            continue
        batch = _batch(token)
        if not model.segments:
            model.segments.append(ModelSegment(0))
        elif new_at is not None or batch.last_offset - model.segments[-1].base_offset > 2**31 - 1:
            at = batch.base_offset if new_at in (None, -1) else new_at
            model.segments.append(ModelSegment(int(at or 0)))
        new_at = None
        model.segments[-1].batches.append(batch)
        model.log_end = batch.last_offset + 1
    if new_at == -1:
        model.segments.append(ModelSegment(model.log_end))
    model.last_stable = model.log_end


def _batch(token: str) -> ModelBatch:
    marker = _MARKER.fullmatch(token)
    if marker:
        offset, timestamp = int(marker[3]), int(marker[4] or 1000)
        return ModelBatch(
            offset,
            offset,
            size_bytes=MARKER_BYTES,
            max_timestamp_ms=timestamp,
            producer_id=int(marker[2]),
            producer_epoch=0,
            is_transactional=True,
            is_control=True,
            marker="COMMIT" if marker[1] == "C" else "ABORT",
        )
    words = token.strip("{}").split()
    producer = words.pop(0) if re.fullmatch(r"[tp]\d+", words[0]) else ""
    records = [_record(word) for word in words]
    return ModelBatch(
        records[0].offset,
        records[-1].offset,
        records,
        batch_bytes(records, records[0].offset, records[0].timestamp_ms),
        max(record.timestamp_ms for record in records),
        producer_id=int(producer[1:]) if producer else -1,
        producer_epoch=0 if producer else -1,
        is_transactional=producer.startswith("t"),
    )


def _record(word: str) -> Record:
    found = _RECORD.fullmatch(word)
    if found is None:
        raise ValueError(word)
    offset, key, value, timestamp = found.groups()
    return Record("t", 0, int(offset), int(timestamp or 1000), _side(key), _side(value))


def _side(text: str) -> bytes | None:
    return None if text == "~" else b"" if text == '""' else text.encode()


def offsets_of(text: str) -> list[int]:
    """``[1,3-5]`` as offsets."""
    found: list[int] = []
    for word in filter(None, text.strip("[]").split(",")):
        first, _, last = word.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def names_of(text: str) -> list[str]:
    """``[A6,C7]`` as words."""
    return [word for word in text.strip("[]").split(",") if word]


def value_of(text: str) -> Any:
    """A list or a mapping of numbers."""
    return ast.literal_eval(text)
