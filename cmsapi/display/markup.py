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
# Notebooks align cells to the right and to the middle. A frame of its own scrolls a wide table, and not the page.
_LEFT, _TOP = "text-align:left", "vertical-align:top"
_NAME = f' style="{_LEFT};{_TOP};white-space:nowrap"'
_TITLE = f' style="{_LEFT};font-weight:bold"'
_FRAME = ' style="overflow-x:auto"'
# The fewest characters of a column of texts in a wide table, and the longest word that stays in one line.
_MIN_WIDTH, _MAX_WORD = 24, 40
# The fields that identify an object, the most readable first.
_IDENTIFYING = ("name", "title", "label", "keyword", "url", "email", "first_name", "id", "target")


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
        f"<tr><th{_NAME}>{text(name.replace('_', ' '))}</th>{_cell(value, _LEFT)}</tr>" for name, value in pairs
    )
    return f"<table>{_caption(title)}<tbody>{rows}</tbody></table>"


def listing(title: str, items: Sequence[Any]) -> str:
    """Write attrs objects as a table, with a column for each field that has a value in any of them.

    What people call an object comes first.
    """
    names = dict.fromkeys(name for item in items for name in field_names(type(item)) if name != "extra")
    used = [name for name in names if any(getattr(item, name, None) not in (None, "") for item in items)]
    first = next((name for name in _IDENTIFYING if name in used), None)
    used.sort(key=lambda name: name != first)
    return table(title, used, [[getattr(item, name, None) for name in used] for item in items])


def table(title: str, names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Write a table of at most two hundred rows, and the number of further rows; numbers are aligned to the right."""
    numbers = {place for place in range(len(names)) if any(_is_number(row[place]) for row in rows)}
    sides = ["text-align:right" if place in numbers else _LEFT for place in range(len(names))]
    head = "".join(
        f'<th style="{side};{_TOP}">{text(name.replace("_", " "))}</th>'
        for name, side in zip(names, sides, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(_cell(value, side) for value, side in zip(row, sides, strict=True))}</tr>"
        for row in rows[:_MAX_ROWS]
    )
    more = f"<p>… and {len(rows) - _MAX_ROWS} more</p>" if len(rows) > _MAX_ROWS else ""
    whole = f"<table>{_caption(title)}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div{_FRAME}>{whole}</div>{more}"


def _caption(title: str) -> str:
    return f"<caption{_TITLE}>{text(title)}</caption>" if title else ""


def _cell(value: object, side: str) -> str:
    shown = brief(value)
    style = f"{side};{_TOP}"
    if isinstance(value, date | int | float):
        style += ";white-space:nowrap"
    elif shown:
        # The widest column of a narrow text is as wide as the text.
        style += f";min-width:{min(len(shown), _MIN_WIDTH) * 0.6:.3g}em"
        style += ";overflow-wrap:anywhere" if max(map(len, shown.split()), default=0) > _MAX_WORD else ""
    return f'<td style="{style}">{text(shown)}</td>'


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


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
            # Without its zone a time means another hour to a reader in another zone.
            return f"{value:%Y-%m-%d %H:%M:%S %Z}".rstrip()
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
            fields = {name.replace("_", " "): getattr(value, name) for name in field_names(type(value))}
            return brief(next((each for each in names if each), fields))
        case _:
            return brief(repr(value))


def minutes(seconds: float) -> str:
    """Return a duration as minutes and seconds."""
    whole, rest = divmod(max(0, round(seconds)), 60)
    return f"{whole}:{rest:02}"


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
