"""The book of the shared limits as rows of a SQLite file."""

from __future__ import annotations

import sqlite3

import attrs

from cmsapi.api.wire.jsontext import dumps, loads
from cmsapi.errors import DecodeError
from cmsapi.ratelimit.allocator import Holder, PermitAllocator
from cmsapi.ratelimit.exchange import AccountLimits, PermitGrant, PermitRequest
from cmsapi.ratelimit.ring import NEVER, ContradictionError

# What a book raises, beside `ContradictionError`, when a stored value is of another type or far out of range.
_SPOILT = (ContradictionError, DecodeError, TypeError, ValueError, KeyError, AttributeError, OverflowError)


def turn(db: sqlite3.Connection, account: str, terms: AccountLimits, ask: PermitRequest, now: float) -> PermitGrant:
    """Take a turn within a transaction; stored rows that make no sense together are deleted, and a new book begins."""
    row = db.execute("SELECT book FROM books WHERE account = ?", (account,)).fetchone()
    if row is not None:
        try:
            book = _read(row[0])
            grant = book.turn(_Ring(db, account, book), terms, ask, now)
        except _SPOILT:
            pass
        else:
            return _written(db, account, book, grant)
    rows = db.execute("DELETE FROM settled WHERE account = ?", (account,)).rowcount
    book = PermitAllocator()
    grant = book.turn(_Ring(db, account, book), terms, ask, now, reset=row is not None or rows > 0)
    return _written(db, account, book, grant)


def _written(db: sqlite3.Connection, account: str, book: PermitAllocator, grant: PermitGrant) -> PermitGrant:
    db.execute("INSERT OR REPLACE INTO books VALUES (?, ?)", (account, dumps(attrs.asdict(book)).decode()))
    return grant


def _read(text: str) -> PermitAllocator:
    said = loads(text.encode())
    holders = {name: Holder(**holder) for name, holder in said.pop("holders").items()}
    return PermitAllocator(**said, holders=holders)


class _Ring:
    """Keep the times at which requests settled as rows, numbered like the book counts them."""

    def __init__(self, db: sqlite3.Connection, account: str, book: PermitAllocator) -> None:
        self._db = db
        self._account = account
        self._first, self._next = book.left, book.settled
        self._latest = book.latest

    def _at(self, number: int) -> float:
        found = "SELECT at FROM settled WHERE account = ? AND number = ?"
        row = self._db.execute(found, (self._account, number)).fetchone()
        if row is None or not isinstance(row[0], float) or row[0] > self._latest:
            raise ContradictionError
        return row[0]

    def newest(self, back: int) -> float:
        number = self._next - 1 - back
        return self._at(number) if number >= self._first else -NEVER

    def oldest(self, index: int) -> float:
        number = self._first + index
        return self._at(number) if number < self._next else NEVER

    def append(self, at: float) -> None:
        try:
            self._db.execute("INSERT INTO settled VALUES (?, ?, ?)", (self._account, self._next, at))
        except sqlite3.IntegrityError:
            raise ContradictionError from None
        self._next += 1
        self._latest = at

    def drop(self, until: float) -> int:
        had = self._first
        if self.oldest(0) <= until:
            stays = "SELECT number FROM settled WHERE account = ? AND at > ? ORDER BY number LIMIT 1"
            row = self._db.execute(stays, (self._account, until)).fetchone()
            self._first = self._next if row is None else row[0]
            gone = "DELETE FROM settled WHERE account = ? AND number < ?"
            self._db.execute(gone, (self._account, self._first))
        return self._first - had
