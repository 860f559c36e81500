"""Tables of any kind: CSV files, data frames, and how their columns become numbers."""

from bneuralt.tables.csv_files import CsvTable, TableError, parse_csv, read_csv
from bneuralt.tables.layout_learning import learn_layout
from bneuralt.tables.table_layout import TableLayout

__all__ = ["CsvTable", "TableError", "TableLayout", "learn_layout", "parse_csv", "read_csv"]
