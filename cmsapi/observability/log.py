"""Write events to the logger `cmsapi`, and show that logger on standard error.

A line of the log is drawn from an event: its name without `cmsapi.`, then its fields in their order as `name=value`.
"""

from __future__ import annotations

import functools
import json
import logging
import re
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from cmsapi.observability.events import Event, RateLimitPaused

logger: logging.Logger = logging.getLogger("cmsapi")

# Pauses of fewer seconds are not worth a warning.
_LONG_PAUSE = 5.0
# A key begins with sk_. Error messages of others may hold one.
_KEY = re.compile(r"\bsk_[^\s'\"<>]+")
_PLAIN = re.compile(r'[^\s"=]+')


def log_event(event: Event) -> None:
    """Write the line of an event, if the logger takes its level; the record has its `event` and `fields` as well."""
    long_pause = isinstance(event, RateLimitPaused) and event.seconds > _LONG_PAUSE
    level = logging.WARNING if long_pause else event.level
    if logger.isEnabledFor(level):
        fields = attrs.asdict(event)
        line = " ".join((event.name.removeprefix("cmsapi."), *_words(fields)))
        logger.log(level, "%s", line, extra={"event": event.name, "fields": fields})


def _words(fields: Mapping[str, Any]) -> Iterator[str]:
    """Write fields as `name=value`, without those that are None."""
    for name, value in fields.items():
        if name == "duration":
            yield f"ms={value * 1000:.0f}"
        elif isinstance(value, Mapping):
            for key, each in value.items():
                yield f"{name}.{key}={_word(each)}"
        elif value is not None:
            yield f"{name}={_word(value)}"


def _word(value: object) -> str:
    """Write a range as `1.5..3`, and a text with white space, quotes, equal signs or control characters as JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, tuple):
        return "..".join(map(_word, value))
    text = str(value)
    if text.isprintable():
        return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
    return json.dumps(text)


class _LineFormatter(logging.Formatter):
    """Format a record as its time in UTC, its level and its message; mask what looks like a key."""

    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, with its traceback if it has one."""
        return _KEY.sub("sk_***", super().format(record))


class StderrHandler(logging.Handler):
    """Write records to what standard error is at that time, unless another handler writes them there already."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(_LineFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as one line."""
        try:
            if sys.stderr is not None and not _is_shown(record):
                sys.stderr.write(f"{self.format(record)}\n")
                sys.stderr.flush()
        except Exception:
            self.handleError(record)


def _is_shown(record: logging.LogRecord) -> bool:
    """Tell whether a handler of the program writes a record to standard error."""
    of_root = logging.getLogger().handlers if logger.propagate else ()
    return any(
        isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr and record.levelno >= handler.level
        for handler in (*logger.handlers, *of_root)
    )


@functools.cache
def _handler() -> StderrHandler:
    return StderrHandler()


def log_to_stderr(level: int) -> None:
    """Show the logger `cmsapi` on standard error, from a level on. If it is shown there already, nothing changes."""
    handler = _handler()
    if handler not in logger.handlers:
        logger.addHandler(handler)
        logger.setLevel(level)
