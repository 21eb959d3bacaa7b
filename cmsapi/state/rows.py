"""The rows that a state consists of, and the one operation on them that a store has to have.

A store reads some rows, asks a function what to write in their place, and writes that, all in one step. What the rows
mean is said once for all stores, in `cmsapi.state.store`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import attrs

R = TypeVar("R")
#: What was found: of each row its last name, and then its values.
Rows: TypeAlias = list[tuple[Any, ...]]


@attrs.frozen
class Table:
    """Describe the rows of one kind.

    Args:
        title: What the table is called.
        names: The columns that name a row; the first one says whose rows these are.
        values: The other columns.
        durable: Whether a loss costs more than being careful for a while.
    """

    title: str
    names: tuple[str, ...]
    values: tuple[str, ...]
    durable: bool = True


JOURNAL = Table("journal", ("scope", "key"), ("lease", "owner", "entry"))
OWNERS = Table("owners", ("scope", "id"), ("owner", "until"))
OUTCOMES = Table("outcomes", ("scope", "batch", "item"), ("entry",))
DOCUMENTS = Table("documents", ("scope", "name"), ("text",))
LIMITS = Table("limits", ("account",), ("document",), durable=False)


@attrs.frozen
class Read:
    """Select one row or several to be read.

    Args:
        table: Of which table.
        names: All names of one row, or the first names of several.
    """

    table: Table
    names: tuple[str, ...]

    @property
    def is_one(self) -> bool:
        """Whether it reads one row."""
        return len(self.names) == len(self.table.names)


@attrs.frozen
class Write:
    """Replace one row, or delete it.

    Args:
        table: Of which table.
        names: All names of the row.
        values: Its new values; None deletes it.
    """

    table: Table
    names: tuple[str, ...]
    values: tuple[Any, ...] | None = None


@attrs.frozen
class Transaction(Generic[R]):
    """Describe what is read and written in one step.

    From the reading to the writing no other process changes a row that is read by all its names.

    Args:
        scope: Whose rows: the first name of all of them.
        reads: What to read.
        decide: Makes of the store's time in seconds, and of the rows of each of `reads`, what to write and the result.
            It may be called again, and on another thread.
        flushed: Whether what is written must be on a disk in the end; None where nothing is written.
    """

    scope: str
    reads: Sequence[Read]
    decide: Callable[..., tuple[Sequence[Write], R]]
    flushed: bool | None = True

    @property
    def locked(self) -> list[Read]:
        """The rows that no other process changes meanwhile, always in one order."""
        return [] if self.flushed is None else [read for read in self.reads if read.is_one]
