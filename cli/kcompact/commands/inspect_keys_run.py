"""The run of ``kcompact inspect --key``: read once, follow a few keys."""

import base64
import binascii
from contextlib import ExitStack
from dataclasses import dataclass, replace

from kcompact.broker.log_names import LogName
from kcompact.broker.log_offsets import parse_log_offsets
from kcompact.commands.command import Command
from kcompact.commands.incoming.opening import Workplaces
from kcompact.commands.incoming.verify_inputs import asked_keys, read_keys
from kcompact.commands.outgoing.report_file import ReportForms, open_report, show_report
from kcompact.console import note, stderr
from kcompact.dumps.json.canonical_json import as_compared
from kcompact.errors import ExitCode, PolicyError
from kcompact.inspect.histories import key_at, key_histories
from kcompact.options.groups import given_options
from kcompact.options.inspect_options import ExpectationOptions, InspectOutputOptions, KeyOptions
from kcompact.options.output_options import AnswerFormat
from kcompact.printable import terminal
from kcompact.report.inspect.histories_report import print_text, render_html, render_json, render_markdown
from kcompact.storage.scratch import scratch_folder

_FORMS = ReportForms(print_text, {"json": render_json, "markdown": render_markdown, "html": render_html})


@dataclass(frozen=True)
class KeyCommand(Command):
    """``inspect`` where it is asked for keys, with its options."""

    keys: KeyOptions
    output: InspectOutputOptions
    expectations: ExpectationOptions

    def attempt(self) -> int:
        """As ``Command.attempt``."""
        self._check_format()
        self._refuse_expectations()
        offsets = _offsets_by_log(self.keys.offset)
        with ExitStack() as stack:
            output = replace(self.output, annotations=False)
            file = stack.enter_context(open_report(output, self.dumps, self.keys.files))
            keys = self._keys_named()
            places = Workplaces(stack, self.run.session_options())
            dump = stack.enter_context(places.open(self.dumps, self.read_options()))
            asked = [*asked_keys(keys, dump.options, [dump])]
            with places.session(dump.data_bytes * (1 + len(offsets))) as spark:
                for log, offset in offsets:
                    with scratch_folder() as folder:
                        asked += as_compared([key_at(spark, dump, folder, log, offset)], dump.options)
                with scratch_folder() as folder:
                    histories = key_histories(spark, dump, folder, list(dict.fromkeys(asked)))
            dump.check_unmoved()
            for text in [*dump.notes, *self.notes_on_filters()]:
                note(text)
            show_report(histories, _FORMS, self.output, file)
            if file is not None:
                stderr.print(f"wrote {terminal(str(file.path))}", markup=False)
        return ExitCode.OK

    def _check_format(self) -> None:
        report_format = self.output.report_format
        if report_format is not AnswerFormat.TEXT and report_format not in _FORMS.others:
            raise PolicyError(
                f"--format {report_format.value} cannot show histories of keys",
                hint="use text, json, markdown or html",
            )

    def _refuse_expectations(self) -> None:
        """Raise PolicyError for expectations: they are not checked here, so they would seem to be met."""
        names = given_options(self.expectations)
        if names:
            raise PolicyError(
                f"{', '.join(names)}: expectations are not checked for histories of keys",
                hint="ask for keys in a separate run",
            )

    def _keys_named(self) -> list[bytes]:
        keys = [_from_base64(text) for text in self.keys.key_base64]
        for text in self.keys.key:
            is_file = text.startswith("@")
            keys += read_keys(text[1:])[0] if is_file else [text.encode("utf-8", "surrogateescape")]
        return keys


def _offsets_by_log(arguments: list[str]) -> list[tuple[LogName, int]]:
    arguments_offsets = [parse_log_offsets("--offset", [argument]) for argument in arguments]
    for offsets in arguments_offsets:
        if offsets.unnamed is not None:
            raise PolicyError(
                f"--offset {offsets.unnamed}: of which log?",
                hint=f"write --offset orders-0={offsets.unnamed}",
            )
    return [place for offsets in arguments_offsets for place in offsets.by_log.items()]


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise PolicyError(
            f"--key-base64 {text}: not base64", hint="as in --key-base64 b3JkZXItMQ=="
        ) from error
