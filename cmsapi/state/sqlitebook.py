"""The book of the shared limits as rows of a SQLite file."""

from __future__ import annotations

import sqlite3

import attrs

from cmsapi.errors import DecodeError, StateError
from cmsapi.state.book import Book, Holder
from cmsapi.state.ring import NEVER
from cmsapi.state.turns import Ask, Grant, Terms
from cmsapi.wire.jsontext import dumps, loads


def turn(db: sqlite3.Connection, account: str, terms: Terms, ask: Ask, now: float) -> Grant:
    """Take a turn within a transaction."""
    row = db.execute("SELECT book FROM books WHERE account = ?", (account,)).fetchone()
    book = Book() if row is None else _book_of(row[0])
    grant = book.turn(_Ring(db, account, book), terms, ask, now)
    text = dumps(attrs.asdict(book)).decode()
    db.execute("INSERT OR REPLACE INTO books VALUES (?, ?)", (account, text))
    return grant


def _book_of(text: str) -> Book:
    try:
        said = loads(text.encode())
        holders = {name: Holder(**holder) for name, holder in said.pop("holders").items()}
        return Book(**said, holders=holders)
    except (DecodeError, TypeError, KeyError, AttributeError) as error:
        raise StateError(
            f"The book of the request limits cannot be read ({error}); something other than this SDK wrote there. "
            "Use another state, or mend this one."
        ) from error


class _Ring:
    """Keep the times at which requests settled as rows, numbered like the book counts them."""

    def __init__(self, db: sqlite3.Connection, account: str, book: Book) -> None:
        self._db = db
        self._account = account
        self._first, self._next = book.left, book.settled

    def _at(self, number: int) -> float:
        found = "SELECT at FROM settled WHERE account = ? AND number = ?"
        (at,) = self._db.execute(found, (self._account, number)).fetchone()
        return float(at)

    def newest(self, back: int) -> float:
        number = self._next - 1 - back
        return self._at(number) if number >= self._first else -NEVER

    def oldest(self, index: int) -> float:
        number = self._first + index
        return self._at(number) if number < self._next else NEVER

    def append(self, at: float) -> None:
        self._db.execute("INSERT INTO settled VALUES (?, ?, ?)", (self._account, self._next, at))
        self._next += 1

    def drop(self, until: float) -> int:
        had = self._first
        if self.oldest(0) <= until:
            stays = "SELECT number FROM settled WHERE account = ? AND at > ? ORDER BY number LIMIT 1"
            row = self._db.execute(stays, (self._account, until)).fetchone()
            self._first = self._next if row is None else row[0]
            gone = "DELETE FROM settled WHERE account = ? AND number < ?"
            self._db.execute(gone, (self._account, self._first))
        return self._first - had
