"""Strings that have broken other programs: a part of the Big List of Naughty Strings (LICENSE), and some of ours."""

from __future__ import annotations

import json
from pathlib import Path

LISTED: list[str] = json.loads((Path(__file__).parent / "strings.json").read_text("ascii"))

#: What has a form in UTF-8, and so may be sent and received.
STRINGS: list[str] = [
    *LISTED,
    "",
    "\0",
    "a\0b",
    "..",
    "%2e%2e",
    "a/b",
    "a\\b",
    "a?b=c#d",
    "a&b=c;d",
    "\r\nX-Evil: 1\r\n\r\n",
    "\x7f",
    "\x9b31m",
    "\u2028",
    "\uffff",
    "\U0010ffff",
    "x" * 1_000_000,
]
#: What has none.
HALVES: list[str] = ["\ud800", "a\udfffb", "\udc00\ud800"]
