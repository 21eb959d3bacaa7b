"""Give the events of a client to its hooks and to the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import attrs

from cmsapi.observability.events import Event, Hook
from cmsapi.observability.log import log_event, logger
from cmsapi.observability.redaction import masked_text, traces

T = TypeVar("T")

_TEXTS: dict[type[Event], Sequence[str]] = {}


class Hooks:
    """Log each event of a client, and call its hooks in order.

    An error of a hook is logged, and does not reach the client's work: with its traceback the first time, in one line
    when it comes from the same place again. No task is cancelled through a plain function, so that a `CancelledError`
    is an error of the hook, too.

    Args:
        functions: The hooks.
        key: The API key of the client, which is masked in each event.
    """

    __slots__ = ("_failed_at", "_traces", "functions", "key", "wants")

    def __init__(self, functions: Sequence[Hook] = (), key: str = "") -> None:
        self.functions: Sequence[Hook] = functions
        self.key: str = key
        self._traces = traces(key)
        self._failed_at: set[object] = set()
        #: Tells whether an event of a level is needed. Without hooks only the log decides, which makes no call in here.
        self.wants: Callable[[int], bool] = _always if functions else logger.isEnabledFor

    def __call__(self, event: Event) -> None:
        """Log an event, and call each hook with it."""
        event = self._without_key(event)
        log_event(event)
        for hook in self.functions:
            self.call(hook, event)

    def call(self, function: Callable[[T], object], event: T) -> None:
        """Call one function of the user with an event, and log what it raises."""
        try:
            function(event)
        except (Exception, asyncio.CancelledError) as error:
            place = _place(error)
            if place in self._failed_at:
                logger.error("A hook failed on %s, as before: %r", type(event).__name__, error)
            else:
                self._failed_at.add(place)
                logger.exception("A hook failed on %s.", type(event).__name__)

    def _without_key(self, event: Event) -> Event:
        """Mask the key in the texts of an event: some of them are words of the service or of a transport."""
        begins, ends = self._traces
        changed = {}
        for name in _texts(type(event)):
            text = getattr(event, name)
            if text is not None and (begins in text or ends in text):
                changed[name] = masked_text(text, self.key)
        return attrs.evolve(event, **changed) if changed else event

    @staticmethod
    def joined(several: Iterable[Hooks]) -> Hooks:
        """Return the hooks of several clients of one account, each once, for an event that concerns them all."""
        key, functions = "", dict[Hook, None]()
        for each in several:
            key = each.key
            functions |= dict.fromkeys(each.functions)
        return Hooks(tuple(functions), key)


def _place(error: BaseException) -> object:
    """Return what errors of one line of code have in common."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace and (type(error), trace.tb_frame.f_code, trace.tb_lineno)


def _always(_: int) -> bool:
    return True


def _texts(kind: type[Event]) -> Sequence[str]:
    """Return the names of the fields of an event that hold texts."""
    found = _TEXTS.get(kind)
    if found is None:
        found = _TEXTS[kind] = [field.name for field in attrs.fields(kind) if field.type in ("str", "str | None")]
    return found
