"""The help that people ask for first: usage, three examples and the dozen options that are used most.

It is text, so that it shows at once: nothing is imported for it. ``--help-all`` lists every option.
"""

from collections.abc import Sequence
from itertools import takewhile

_HELP_WORDS = {"--help", "-h"}

_FRAME = """\
Usage: kcompact COMMAND [OPTIONS] DUMP...

Compact an exported Kafka topic dump exactly as the broker's log cleaner would.

Commands:
  inspect      what is in a dump: records, keys, gaps, tombstones, and keys in
               several partitions with the likely cause
  dirty-ratio  how dirty each log is, whether a broker would clean it yet, and
               what cleaning would bring
  compact      the compacted dump, and a report of what was removed and why
  verify       whether a compaction lost anything: exit code 0 if not, 1 if so

Examples:
  kcompact inspect samples/orders.jsonl
  kcompact compact samples/orders.jsonl -o build/orders.jsonl
  kcompact verify samples/orders.jsonl build/orders.jsonl

Options:
  -h, --help           this help; after a command, the help of the command
  --help-all           after a command: all its options, by group
  --version            the version
  --completion SHELL   completion for bash, zsh, fish or pwsh, as in
                       source <(kcompact --completion bash)
  --debug              the traceback of an unexpected error
"""

_INSPECT = """\
Usage: kcompact inspect [OPTIONS] DUMP...

Say what a dump holds: records, keys, gaps, tombstones, and keys in several
partitions and why. Nothing is written but the report.

Examples:
  kcompact inspect samples/orders.jsonl
  kcompact inspect samples/orders.jsonl --max-gaps 20 --format json
  kcompact inspect samples/orders.csv --key order-1003

Options used most (--help-all lists all):
  -o, --output FILE       write the report to a file
  --overwrite             replace a file that exists
  --format FORMAT         text, json, markdown, html, junit, github or
                          code-quality
  --topic TOPIC           read only this topic; repeatable
  --partitions LIST       read only these partitions, such as 0,3-5
  --dialect NAME          who wrote the dump, where it is not recognised
  --key KEY               each record of a key, and what happens to it
  --offset orders-0=1222  the same for the key of a record
  --max-null-keys N       exit with 1 if more records than this have no key
  --max-gaps N            exit with 1 if the offsets have more gaps than this
  --fail-on LEVEL         exit with 1 for error (default), warning, or never
  -q, --quiet             no notes, no progress, no report on the terminal
"""

_DIRTY_RATIO = """\
Usage: kcompact dirty-ratio [OPTIONS] DUMP...

Say how dirty each log is, whether a broker would clean it yet, and what
cleaning would bring. A config given as a list adds a what-if row per value.

Examples:
  kcompact dirty-ratio samples/orders.jsonl
  kcompact dirty-ratio samples/orders.jsonl --segment-bytes 4KiB,16KiB
  kcompact dirty-ratio samples/orders.jsonl --partitions 0 --format json

Options used most (--help-all lists all):
  -o, --output FILE            write the report to a file
  --overwrite                  replace a file that exists
  --format FORMAT              text, json, markdown, html, broker-log, junit,
                               github or code-quality
  --fail-above RATIO           exit with 1 if a log's dirty ratio is above this
  --checkpoint FILE            Kafka's cleaner-offset-checkpoint
  --topic-config FILE          what kafka-configs --describe prints
  --segment-bytes BYTES        roll segments at this size, such as 64MiB
  --min-compaction-lag-ms D    segments younger than this are left alone: 1h
  --now TIME                   the clock, in ms or as 2026-01-31T12:00:00Z
  --partitions LIST            read only these partitions, such as 0,3-5
  -q, --quiet                  no notes, no progress, no report on the terminal
"""

_COMPACT = """\
Usage: kcompact compact [OPTIONS] DUMP...

Keep the latest record of every key, at its offset, and say what was removed
and why. DUMP: files, folders or globs, or - for standard input.

Examples:
  kcompact compact samples/orders.jsonl -o build/orders.jsonl
  kcompact compact samples/orders.jsonl -o build/live.avro --drop-tombstones
  kcompact compact samples/orders.jsonl --dry-run --format json

Options used most (--help-all lists all):
  -o, --output PATH       a file, DIR/ for one file per input, or - for
                          standard output (default: beside the dump)
  --overwrite             replace an output that exists
  --dry-run               say what would be removed; write nothing
  --to FORMAT             convert to jsonl, csv, avro, parquet or kcat
  --format FORMAT         the report as text, json, markdown, html or broker-log
  --null-keys WORD        records without key: error (default), drop or keep
  --drop-tombstones       remove latest tombstones at once
  --partitions LIST       read only these partitions, such as 0,3-5
  --dialect NAME          who wrote the dump, where it is not recognised
  --state DIR             go on where the last run with this folder ended
  -q, --quiet             no notes, no progress, no report on the terminal
"""

_VERIFY = """\
Usage: kcompact verify [OPTIONS] [BEFORE...] AFTER

Prove that a compaction lost nothing: exit code 0 if it holds, 1 if not, 2 if
nobody can tell. AFTER alone: is it fully compacted?

Examples:
  kcompact verify samples/orders.jsonl build/orders.jsonl
  kcompact verify samples/orders.jsonl samples/orders.avro --mode state
  kcompact verify build/orders.jsonl --format junit -o build/orders.xml

Options used most (--help-all lists all):
  -o, --output FILE       write the answer to a file
  --overwrite             replace a file that exists
  --format FORMAT         text, json, markdown, html, junit, github or
                          code-quality
  --mode state            do two dumps hold the same latest live values?
  --strict                records that were left over are findings, too
  --drop-tombstones       tombstones may have been dropped at once
  --absent-keys FILE      show whether these keys are gone
  --checkpoint FILE       how far the broker had cleaned
  --max-findings N        findings to show of each kind and log (text: 3)
  --partitions LIST       read only these partitions, such as 0,3-5
  -q, --quiet             no notes, no progress, no answer on the terminal
"""

_END = """\

Exit codes: 0 fine, 1 finding, 2 could not do the job, 3 a bug in kcompact,
130 interrupted. Documentation: README.md and docs/recipes.md of kcompact.
"""

HELP = {
    "inspect": _INSPECT,
    "dirty-ratio": _DIRTY_RATIO,
    "compact": _COMPACT,
    "verify": _VERIFY,
}


def help_of(command: str | None) -> str:
    """The help of a command, or of kcompact itself."""
    return HELP.get(command or "", _FRAME) + _END


def asked_for(arguments: Sequence[str]) -> str | None:
    """The help that a command line asks for; None: it asks for something else."""
    words = list(takewhile(lambda argument: argument != "--", arguments))  # after it, all words are files
    command = next((word for word in words if not word.startswith("-")), None)
    if not arguments or _HELP_WORDS & set(words) or (command is None and "--help-all" in words):
        return help_of(command)
    return None
