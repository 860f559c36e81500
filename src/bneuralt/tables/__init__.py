"""Tables of any kind: files, data frames and arrays, and how their columns become numbers."""

from bneuralt.tables.csv_files import TableError
from bneuralt.tables.file_table import FileTable, parse_csv, read_csv

__all__ = ["FileTable", "TableError", "parse_csv", "read_csv"]
