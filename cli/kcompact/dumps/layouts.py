"""The registry of layouts: one line per way in which records lie in a file."""

from kcompact.dumps.avro import Avro
from kcompact.dumps.csv_lines import CsvLines
from kcompact.dumps.dump_log import DumpLog
from kcompact.dumps.json_array import JsonArray
from kcompact.dumps.json_lines import JsonLines
from kcompact.dumps.json_objects import JsonObjects
from kcompact.dumps.json_wrapper import JsonWrapper
from kcompact.dumps.layout import Layout
from kcompact.dumps.side_files import SideFiles

LAYOUTS: dict[str, Layout] = {
    "json_lines": JsonLines(),
    "json_objects": JsonObjects(),
    "json_array": JsonArray(),
    "json_wrapper": JsonWrapper(),
    "csv_lines": CsvLines(),
    "dump_log": DumpLog(),
    "avro": Avro(),
    "side_files": SideFiles(),
}
