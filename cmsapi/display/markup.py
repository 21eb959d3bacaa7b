"""Write objects as HTML for notebooks, and texts for terminals. All texts of the service are escaped."""

from __future__ import annotations

import enum
import html
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import attrs

from cmsapi.display.values import field_names

# The largest number of characters in a cell, of items in a list, and of rows in a table.
_MAX_TEXT, _MAX_ITEMS, _MAX_ROWS = 400, 5, 200
_LEFT = ' style="text-align:left;vertical-align:top"'
# A job token is longer than a page is wide, and has no space to break at.
_WRAPPED = ' style="text-align:left;vertical-align:top;overflow-wrap:anywhere"'
# The fields that identify an object, the most readable first.
_IDENTIFYING = ("name", "title", "label", "keyword", "url", "email", "first_name", "id")


def record(thing: Any, *more: tuple[str, object], title: str | None = None) -> str:
    """Write the public fields of an attrs object, one per row.

    Args:
        thing: The object.
        *more: Further names and values.
        title: The title; the default is the name of the class.
    """
    pairs = [(name, getattr(thing, name)) for name in field_names(type(thing))]
    shown = [(name, value) for name, value in pairs if not (name == "extra" and not value)]
    return facts(title or type(thing).__name__, [*shown, *more])


def facts(title: str, pairs: Iterable[tuple[str, object]]) -> str:
    """Write names and values, one pair per row."""
    rows = "".join(
        f"<tr><th{_LEFT}>{text(name.replace('_', ' '))}</th><td{_WRAPPED}>{text(brief(value))}</td></tr>"
        for name, value in pairs
    )
    return f"<table><caption>{text(title)}</caption>{rows}</table>"


def listing(title: str, items: Sequence[Any]) -> str:
    """Write attrs objects as a table, with a column for each field that has a value in any of them."""
    names = dict.fromkeys(name for item in items for name in field_names(type(item)) if name != "extra")
    used = [name for name in names if any(getattr(item, name, None) is not None for item in items)]
    return table(title, used, [[getattr(item, name, None) for name in used] for item in items])


def table(title: str, names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Write a table of at most two hundred rows, and the number of further rows."""
    head = "".join(f"<th{_LEFT}>{text(name.replace('_', ' '))}</th>" for name in names)
    body = "".join(
        f"<tr>{''.join(f'<td{_LEFT}>{text(brief(value))}</td>' for value in row)}</tr>" for row in rows[:_MAX_ROWS]
    )
    more = f"<p>… and {len(rows) - _MAX_ROWS} more</p>" if len(rows) > _MAX_ROWS else ""
    return f"<table><caption>{text(title)}</caption><tr>{head}</tr>{body}</table>{more}"


def paragraphs(title: str, lines: Iterable[str]) -> str:
    """Write a bold title and lines below it."""
    return f"<p><b>{text(title)}</b><br>{'<br>'.join(text(line) for line in lines)}</p>"


def brief(value: object) -> str:
    """Return a value as a short text."""
    match value:
        case None:
            return ""
        case enum.Enum():
            return str(value.value)
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case date() | bool() | int():
            return str(value)
        case float():
            return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
        case str():
            return value if len(value) <= _MAX_TEXT else f"{value[:_MAX_TEXT]}…"
        case Mapping():
            return _several([f"{key}: {brief(each)}" for key, each in value.items()])
        case list() | tuple() | set() | frozenset():
            return _several([brief(each) for each in value])
        case _ if attrs.has(type(value)):
            names = (getattr(value, name, None) for name in _IDENTIFYING)
            return brief(next((each for each in names if each), type(value).__name__))
        case _:
            return brief(repr(value))


def text(value: str) -> str:
    """Escape a text for HTML, and for notebooks that show text between dollar signs as formulas."""
    return html.escape(value).replace("$", "&#36;")


def plain(value: str) -> str:
    """Escape unprintable characters, which could colour the terminal or reverse the direction of its text."""
    if value.isprintable():
        return value
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in value)


def _several(texts: Sequence[str]) -> str:
    rest = f" … and {len(texts) - _MAX_ITEMS} more" if len(texts) > _MAX_ITEMS else ""
    return ", ".join(texts[:_MAX_ITEMS]) + rest
