"""CSV tables: reading their cells, and encoding them as features and targets."""

from bneuralt.tables.encoding import TableEncoding, learn_encoding
from bneuralt.tables.reading import Table, TableError, parse_csv, read_csv

__all__ = ["Table", "TableEncoding", "TableError", "learn_encoding", "parse_csv", "read_csv"]
