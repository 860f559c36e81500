"""The databases in which SQL is tested: each runs a query over a data frame."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import pandas as pd

TABLE = 'hostile "table'


def _sqlite_value(value):
    if value is None or value != value or value is pd.NaT:
        return None
    return value.isoformat(" ") if isinstance(value, pd.Timestamp) else value


class SQLite:
    """The module of the standard library."""

    name, quote = "sqlite", "`"

    def __enter__(self):
        self.connection = sqlite3.connect(":memory:")
        return self

    def __exit__(self, *exc):
        self.connection.close()

    def why_not(self):
        """Return why the database cannot be used, or None."""
        try:
            sqlite3.connect(":memory:").execute("SELECT TANH(1.0)")
        except sqlite3.OperationalError:
            return "this SQLite has no mathematical functions"
        return None

    def column_type(self, values):
        if pd.api.types.is_numeric_dtype(values):
            return "REAL"
        return "TEXT"

    def value(self, value):
        return _sqlite_value(value)

    def quoted(self, name):
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def fill(self, frame):
        columns = ", ".join(f"{self.quoted(c)} {self.column_type(frame[c])}" for c in frame.columns)
        self.execute(f"DROP TABLE IF EXISTS {self.quoted(TABLE)}")
        self.execute(f"CREATE TABLE {self.quoted(TABLE)} (row_number INTEGER, {columns})")
        rows = [
            (i, *(self.value(v) for v in row))
            for i, row in enumerate(frame.astype(object).itertuples(index=False, name=None))
        ]
        self.insert(rows, len(frame.columns) + 1)

    def insert(self, rows, n):
        marks = ", ".join("?" * n)
        self.connection.executemany(f"INSERT INTO {self.quoted(TABLE)} VALUES ({marks})", rows)

    def execute(self, statement):
        return self.connection.execute(statement)

    def evaluate(self, *expressions):
        """Return the values of expressions for each row of the table."""
        listed = ", ".join(expressions)
        statement = f"SELECT {listed} FROM {self.quoted(TABLE)} ORDER BY row_number"
        return self.execute(statement).fetchall()


class DuckDB(SQLite):
    """DuckDB, if its package is installed."""

    name, quote = "duckdb", '"'

    def __enter__(self):
        import duckdb

        self.connection = duckdb.connect(":memory:")
        self.connection.execute("SET threads = 1")
        return self

    def why_not(self):
        try:
            import duckdb  # noqa: F401
        except ImportError:
            return "the package duckdb is not installed"
        return None

    def column_type(self, values):
        if pd.api.types.is_datetime64_any_dtype(values):
            return "TIMESTAMP"
        return "DOUBLE" if pd.api.types.is_numeric_dtype(values) else "VARCHAR"

    def value(self, value):
        value = None if value is None or value is pd.NaT or value != value else value
        return value.to_pydatetime() if isinstance(value, pd.Timestamp) else value

    def fill(self, frame):
        super().fill(frame)


class PostgreSQL(DuckDB):
    """A cluster in a temporary folder, which listens on a socket in it and nowhere else."""

    name, quote = "postgresql", '"'

    def why_not(self):
        try:
            import psycopg2  # noqa: F401
        except ImportError:
            return "the package psycopg2 is not installed"
        if self._program("initdb") is None:
            return "there is no PostgreSQL server (initdb)"
        if os.geteuid() == 0 and shutil.which("setpriv") is None:
            return "a PostgreSQL server does not run as root, and there is no setpriv"
        return None

    @staticmethod
    def _program(name):
        places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
        return str(places[0]) if places else shutil.which(name)

    def _run(self, *command):
        switch_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        prefix = switch_user if os.geteuid() == 0 else []
        done = subprocess.run([*prefix, *command], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{command[0]}: {done.stdout}{done.stderr}")

    def __enter__(self):
        import psycopg2

        self.folder = tempfile.mkdtemp(prefix="pg")
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        data = f"{self.folder}/data"
        self._run(self._program("initdb"), "-D", data, "-U", "tester", "-A", "trust",
                  "-E", "UTF8", "--no-locale", "--no-sync")  # fmt: skip
        options = f"-c listen_addresses='' -k {self.folder} -F -c fsync=off"
        self._run(self._program("pg_ctl"), "-D", data, "-w", "-o", options,
                  "-l", f"{self.folder}/log", "start")  # fmt: skip
        self.connection = psycopg2.connect(host=self.folder, user="tester", dbname="postgres")
        self.connection.autocommit = True
        return self

    def __exit__(self, *exc):
        self.connection.close()
        self._run(self._program("pg_ctl"), "-D", f"{self.folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def column_type(self, values):
        if pd.api.types.is_datetime64_any_dtype(values):
            return "TIMESTAMP"
        return "DOUBLE PRECISION" if pd.api.types.is_numeric_dtype(values) else "TEXT"

    def insert(self, rows, n):
        from psycopg2.extras import execute_values

        with self.connection.cursor() as cursor:
            execute_values(cursor, f"INSERT INTO {self.quoted(TABLE)} VALUES %s", rows)

    def execute(self, statement):
        cursor = self.connection.cursor()
        cursor.execute(statement)
        return cursor


DATABASES = {kind.name: kind for kind in (SQLite, DuckDB, PostgreSQL)}
