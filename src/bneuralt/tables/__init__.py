"""Tables as people have them: CSV files, and what their cells mean."""

from bneuralt.tables.encoding import TableEncoding, learn_encoding
from bneuralt.tables.reading import Table, TableError, parse_csv, read_csv

__all__ = ["Table", "TableEncoding", "TableError", "learn_encoding", "parse_csv", "read_csv"]
