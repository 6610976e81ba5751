"""Names of the counts kept while records are read (``SplitNotes.counts``); mypy accepts no others."""

from typing import Literal, NewType

ComposedName = NewType("ComposedName", str)
"""A name composed at run time: of a form and a role (``<nil>_key``), or of a format (``debezium_events``)."""

_OfKeys = Literal["missing_key", "empty_key", "literal_key", "upper_literal_key"]
_OfValues = Literal["missing_value", "empty_value", "literal_value", "upper_literal_value"]
_OfNullTexts = Literal["null_word_key", "null_sign_key", "null_word_value", "null_sign_value"]
_OfDamagedKeys = Literal["lossy_keys", "rounded_keys", "respelt_keys", "replacement_keys"]
_OfKinds = Literal["datum_keys", "json_keys", "json_keys_in_quotes", "quoted_keys"]
_OfEvents = Literal[
    "keys_before", "keyed_tombstones", "joined_tombstones", "moved_rows", "wider_primary_keys"
]
_OfParts = Literal["unavailable_values", "replaced_values", "headers_without_values", "doubtful_headers"]
_OfTimes = Literal["timestamps", "scaled_timestamps", "zoneless_timestamps"]
_OfTimeSteps = Literal["earlier_records", "later_records"]
_OfDoubtfulTimes = Literal[
    "ten_digit_timestamps", "calendar_dates", "calendar_timestamps", "day_numbers", "fractional_seconds"
]
_OfCells = Literal["quoted_cells", "freely_quoted_cells", "quoted_words", "escapes"]
_OfRows = Literal["rows_within_quotes", "cr_lf_rows", "blank_lines", "open_lines", "trailing_null_element"]
_OfTools = Literal["skipped_noise_lines", "skipped_unknown_lines", "skipped_control_records", "abort_markers"]
_OfDamagedLogs = Literal["invalid_batches", "torn_segments"]

CountName = (
    Literal["read_without_loops"]
    | _OfKeys
    | _OfValues
    | _OfNullTexts
    | _OfDamagedKeys
    | _OfKinds
    | _OfEvents
    | _OfParts
    | _OfTimes
    | _OfTimeSteps
    | _OfDoubtfulTimes
    | _OfCells
    | _OfRows
    | _OfTools
    | _OfDamagedLogs
    | ComposedName
)
