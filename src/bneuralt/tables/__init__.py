"""Tables of any kind: CSV files, data frames, and how their columns become numbers."""

from bneuralt.tables.encoding import TableEncoding
from bneuralt.tables.learning import learn_encoding
from bneuralt.tables.reading import Table, TableError, parse_csv, read_csv

__all__ = ["Table", "TableEncoding", "TableError", "learn_encoding", "parse_csv", "read_csv"]
