"""Refuse to pickle what belongs to a client: it holds connections, and tasks of an event loop, and the key."""

from __future__ import annotations

from typing import ClassVar, NoReturn, Self, SupportsIndex


class Unpicklable:
    """Say what to pass to another process in place of an object that belongs to a client."""

    __slots__ = ()

    #: What to do, as a sentence.
    _instead: ClassVar[str] = "Make a client in each process."

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        raise TypeError(
            f"A {type(self).__name__} belongs to a client and its event loop, and cannot be pickled or copied deeply. "
            f"{self._instead}"
        )

    def __copy__(self) -> Self:
        # There is one of each: what holds it may be copied.
        return self
