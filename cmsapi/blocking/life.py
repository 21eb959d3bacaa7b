"""The life of a blocking client: it starts and ends the thread of its event loop."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from cmsapi.blocking.mirror import Mirror, wrapped
from cmsapi.blocking.thread import LoopThread
from cmsapi.client import Client as AsyncClient


class Life(Mirror):
    """Use a client with `with`, or close it with `close()`."""

    __slots__ = ()

    def _start_with(self, client: AsyncClient) -> None:
        Mirror.__init__(self, client, LoopThread(client))

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop polling, close the connections and end the thread; calls that wait get `ClientClosedError`.

        Jobs go on at the service. After a fork it leaves the client of the other process alone.
        """
        self.thread.close()

    def _part(self, name: str) -> Any:
        """Return a resource, which needs no loop."""
        return wrapped(getattr(self.asynchronous, name), self.thread)
