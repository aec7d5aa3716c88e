"""The forge's memory: one SQLite file in WAL mode, read by every thread and written by one at a time."""

import contextlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

Value = str | int | float | bytes | None
Row = dict[str, Any]

# Ids start apart, so that a number, an issue's id and a pull request's id are never equal by chance.
FIRST_IDS = {
    "users": 1000,
    "repos": 5000,
    "labels": 20_000,
    "issues": 100_000,
    "pulls": 200_000,
    "comments": 300_000,
    "events": 400_000,
    "reviews": 500_000,
    "statuses": 600_000,
    "check_suites": 700_000,
    "check_runs": 800_000,
    "hooks": 900_000,
    "deliveries": 1_000_000,
    "apps": 30_000,
    "installations": 40_000,
}


def _as_dict(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> Row:
    return {column[0]: value for column, value in zip(cursor.description, values, strict=True)}


class Store:
    """Rows by SQL. Reads run on the calling thread's own connection; writes take turns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._turn = threading.RLock()
        self._create()

    def _create(self) -> None:
        connection = self._connection()
        connection.executescript(files(__package__).joinpath("schema.sql").read_text("utf-8"))
        with self.write():
            for table, first in FIRST_IDS.items():
                self.run(
                    "INSERT INTO sqlite_sequence (name, seq) SELECT ?, ? WHERE NOT EXISTS "
                    "(SELECT 1 FROM sqlite_sequence WHERE name = ?)",
                    *(table, first, table),
                )

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            # Autocommit outside write(): every read sees the latest committed state.
            connection = sqlite3.connect(self._path, timeout=30, isolation_level=None)
            connection.row_factory = _as_dict
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            self._local.connection = connection
            self._local.depth = 0
            self._local.after = []
        return connection

    def all(self, sql: str, *values: Value) -> list[Row]:
        """Return every row of a query."""
        rows: list[Row] = self._connection().execute(sql, values).fetchall()
        return rows

    def one(self, sql: str, *values: Value) -> Row | None:
        """Return the first row of a query, or None."""
        row: Row | None = self._connection().execute(sql, values).fetchone()
        return row

    def count(self, sql: str, *values: Value) -> int:
        """Return the single number that a query counts."""
        row = self.one(sql, *values)
        return int(next(iter(row.values()))) if row else 0

    def run(self, sql: str, *values: Value) -> int:
        """Change rows, inside `write`, and return the id of the row just inserted."""
        return int(self._connection().execute(sql, values).lastrowid or 0)

    @contextlib.contextmanager
    def write(self) -> Iterator[None]:
        """Make everything inside one transaction; nested uses join the outer one."""
        connection = self._connection()
        with self._turn:
            if self._local.depth:
                yield
                return
            connection.execute("BEGIN IMMEDIATE")
            self._local.depth = 1
            try:
                yield
            except BaseException:
                connection.execute("ROLLBACK")
                self._local.after = []
                raise
            else:
                connection.execute("COMMIT")
            finally:
                self._local.depth = 0
            after, self._local.after = self._local.after, []
            for action in after:
                action()

    def after_commit(self, action: Callable[[], None]) -> None:
        """Run an action once the current transaction is durable; dropped when it rolls back."""
        self._connection()
        self._local.after.append(action)

    def switch(self, name: str, default: Any) -> Any:
        """Return the value of a switch, or its default."""
        row = self.one("SELECT value FROM switches WHERE name = ?", name)
        return json.loads(row["value"]) if row else default
