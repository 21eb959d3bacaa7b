"""Spell what is read and written as statements, the same for a file of SQLite and a server of Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from cmsapi.state.rows import Read, Write

#: A statement with question marks, and the values in their places.
Statement: TypeAlias = tuple[str, Sequence[Any]]


def selection(read: Read) -> Statement:
    """Return the statement that reads rows: of each its last name, and then its values."""
    table = read.table
    columns = ", ".join((table.names[-1], *table.values))
    return f"SELECT {columns} FROM {table.title} WHERE {_named(table.names[: len(read.names)])}", read.names


def changes(write: Write) -> list[Statement]:
    """Return the statements that put a row in the place of the one of its names, or delete that."""
    table, row = write.table, (*write.names, *(write.values or ()))
    statements: list[Statement] = [(f"DELETE FROM {table.title} WHERE {_named(table.names)}", write.names)]
    if write.values is not None:
        statements.append((f"INSERT INTO {table.title} VALUES ({', '.join('?' * len(row))})", row))
    return statements


def _named(columns: Sequence[str]) -> str:
    return " AND ".join(f"{column} = ?" for column in columns)
