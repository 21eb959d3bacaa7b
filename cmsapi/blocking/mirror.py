"""What the blocking classes have in common: each stands for an object of the async client.

Their methods and types are generated from those of the async classes; the behaviour of all of them is here.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

import anyio.to_thread
import attrs

from cmsapi.api.arguments import is_one
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.blocking.thread import CALLS, Calls, LoopThread
from cmsapi.client import Client as AsyncClient
from cmsapi.errors import ArgumentError, JobError
from cmsapi.guesses import Hinting
from cmsapi.jobs.fanout.batch import text_of_item
from cmsapi.user_line import user_line

T = TypeVar("T")

# The most worker threads of one function: as many as a fan-out launches at once.
_WORKERS = 40
_END: Any = object()
# What completion and advice do not show.
_FOR_THE_SDK = ("asynchronous", "copies", "mirrors", "thread")


class Mirror(Hinting):
    """Offer an object of the async client to code without an event loop.

    Args:
        asynchronous: The object, which lives on the loop.
        thread: The loop.
    """

    __slots__ = ("__weakref__", "asynchronous", "thread")

    mirrors: ClassVar[dict[type, type[Mirror]]] = {}
    """The blocking class of each async class, for the SDK itself."""
    copies: ClassVar[dict[type, type[Any]]] = {}
    """The blocking class that values of an async class are copied into, for the SDK itself."""

    def __init__(self, asynchronous: Any, thread: LoopThread) -> None:
        self.asynchronous: Any = asynchronous
        """The object of the async client, for the SDK itself."""
        self.thread: LoopThread = thread
        """The loop, for the SDK itself."""

    def __init_subclass__(cls, of: type | None = None) -> None:
        super().__init_subclass__()
        if of is not None:
            Mirror.mirrors[of] = cls

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in _FOR_THE_SDK]

    def __repr__(self) -> str:
        return f"<blocking {self.asynchronous!r}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mirror) and other.asynchronous is self.asynchronous

    def __hash__(self) -> int:
        return hash(self.asynchronous)

    def _call(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Call a method on the loop, and wait for its result."""
        method = getattr(self.asynchronous, name)
        named = {key: unwrapped(value) for key, value in named.items()}
        return self._run(method, *map(unwrapped, arguments), **named)

    def _run(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return wrapped(self.thread.call(function, *arguments, **named), self.thread)
        except JobError as error:
            error.job = wrapped(error.job, self.thread)
            raise

    def _iterate(self, name: str, *arguments: Any, **named: Any) -> Iterator[Any]:
        """Iterate over an async generator."""
        return Iteration(self.thread.call(getattr(self.asynchronous, name), *arguments, **named), self.thread)

    def _ask(self, name: str, *arguments: Any) -> Any:
        """Call a method that sends nothing, also when the client is closed."""
        return wrapped(self.thread.read(getattr(self.asynchronous, name), *arguments), self.thread)

    def _read(self, name: str) -> Any:
        """Read an attribute, which sends nothing."""
        return wrapped(self.thread.read(getattr, self.asynchronous, name), self.thread)


class Iteration(Mirror, Iterator[T]):
    """Iterate over an async iterator; `close` ends it before its end."""

    __slots__ = ()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        item = self._run(_next_of, self.asynchronous)
        if item is _END:
            raise StopIteration
        return item  # type: ignore[no-any-return]  # `_END` has no type of its own

    def close(self) -> None:
        """End the iteration; launched jobs continue."""
        if not self.thread.closed:
            self.thread.call(self.asynchronous.aclose)


class Context(Mirror):
    """Enter and leave an async context manager with `with`."""

    __slots__ = ()

    def __enter__(self) -> Self:
        self.thread.call(self.asynchronous.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.thread.closed:
            self.thread.call(self.asynchronous.__aexit__, None, None, None)


class ClientMirror(Mirror):
    """Use a client with `with`, or close it with `close()`; it starts and ends the thread of its event loop."""

    __slots__ = ()

    def _start_with(self, client: AsyncClient) -> None:
        Mirror.__init__(self, client, LoopThread(client))
        # At the end of the process nothing is left that a close would free.
        weakref.finalize(self, self.thread.warn_if_open, user_line()).atexit = False

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


def copies(of: type) -> Callable[[type[T]], type[T]]:
    """Return a decorator of a class whose values are copies of those of an async class.

    Args:
        of: The async class.
    """

    def note(copied: type[T]) -> type[T]:
        Mirror.copies[of] = copied
        return copied

    return note


def wrapped(value: Any, thread: LoopThread) -> Any:
    """Return what code without an event loop gets for a value of the async client."""
    if type(value) in (list, tuple):
        return type(value)(wrapped(each, thread) for each in value)
    if isinstance(value, JobError):
        value.job = wrapped(value.job, thread)
        return value
    if (mirror := _blocking_class(type(value))) is not None:
        made = mirror.__new__(mirror)
        Mirror.__init__(made, value, thread)
        return made
    if (copied := Mirror.copies.get(type(value))) is not None:
        fields = [field.name for field in attrs.fields(copied) if field.init]
        return copied(**{name: wrapped(getattr(value, name), thread) for name in fields})
    return value


def _blocking_class(kind: type[object]) -> type[Mirror] | None:
    return next((Mirror.mirrors[base] for base in kind.__mro__ if base in Mirror.mirrors), None)


def unwrapped(value: Any) -> Any:
    """Return what the async client gets for an argument."""
    if isinstance(value, Mirror):
        return value.asynchronous
    return [unwrapped(each) for each in value] if type(value) is list else value


def whole(items: Any) -> Any:
    """Return items as a list that the caller's thread has read; what is no iterable is left to the async client."""
    return items if is_one(items) or not hasattr(items, "__iter__") else list(items)


def keyed(key: Any, items: Any) -> Any:
    """Return a function that gives the keys of items, which the caller's thread computes now."""
    if not callable(key) or not isinstance(items, list):
        return key
    named = text_of_item if key is str else key
    keys = {id(item): named(item) for item in items}
    return lambda item: keys[id(item)]


def in_worker(parameter: str, function: Any, thread: LoopThread) -> Any:
    """Return a coroutine function for a function of the user, which runs in a worker thread and may call the client.

    A method of the client itself runs on the loop. When the coroutine is cancelled, so are the calls of the function.

    Raises:
        ArgumentError: It is a coroutine function.
    """
    if inspect.iscoroutinefunction(function):
        raise ArgumentError(
            f"`{parameter}` must be a plain function, got a coroutine function, {excerpt(function)}. `cmsapi.Client` "
            "takes those. Nothing was sent.",
            parameter=parameter,
        )
    if not callable(function):
        return function
    owner = getattr(function, "__self__", None)
    if isinstance(owner, Mirror):
        return getattr(owner.asynchronous, function.__name__)
    workers = anyio.CapacityLimiter(_WORKERS)

    async def run(argument: Any) -> Any:
        calls = Calls()
        CALLS.set(calls)
        thread.workers.add(calls)
        work = functools.partial(function, wrapped(argument, thread))
        try:
            return unwrapped(await anyio.to_thread.run_sync(work, limiter=workers))
        except BaseException:
            calls.cancel()
            raise
        finally:
            thread.workers.discard(calls)

    return run


async def _next_of(iterator: Any) -> Any:
    return await anext(iterator, _END)
