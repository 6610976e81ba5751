"""The registry of layouts: one line per way in which a file holds records."""

from kcompact.dumps.avro.avro_layout import Avro
from kcompact.dumps.json.json_layouts import JsonArray, JsonLines, JsonObjects
from kcompact.dumps.json.json_wrapper import JsonWrapper
from kcompact.dumps.paired.side_files import SideFiles
from kcompact.dumps.parquet.parquet_layout import Parquet
from kcompact.dumps.records.layout_interface import Layout
from kcompact.dumps.text.csv_lines import CsvLines
from kcompact.dumps.text.dump_log import DumpLog

LAYOUTS: dict[str, Layout] = {
    "json_lines": JsonLines(),
    "json_objects": JsonObjects(),
    "json_array": JsonArray(),
    "json_wrapper": JsonWrapper(),
    "csv_lines": CsvLines(),
    "dump_log": DumpLog(),
    "avro": Avro(),
    "parquet": Parquet(),
    "side_files": SideFiles(),
}
