"""Tokens of HTML, read in linear time however broken the markup is.

Python's own parser searches for the end of each unfinished tag again, which takes quadratic time: seconds for 30 KB of
`<a `. Here, as in browsers, an unfinished tag ends the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import attrs

# Elements whose content is text up to their end tag.
RAW_TEXT = frozenset(
    ["iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp"]
)

_SPACE = " \t\n\r\f"
_OPENING = re.compile(r"</?[A-Za-z]|<[!?/]")
_TAG_NAME = re.compile(rf"[^{_SPACE}/>]+")
_ATTRIBUTE = re.compile(rf"[{_SPACE}/]*(=?[^{_SPACE}/>=]*)")
_EQUALS = re.compile(rf"[{_SPACE}]*=[{_SPACE}]*")
_BARE = re.compile(rf"[^{_SPACE}>]*")


@attrs.frozen
class Start:
    """A start tag: its name in lower case, its attributes, and whether it ends in a slash."""

    name: str
    attributes: list[tuple[str, str]]
    slashed: bool


@attrs.frozen
class End:
    """An end tag: its name in lower case."""

    name: str


@attrs.frozen
class Comment:
    """A comment, a declaration or a processing instruction."""


Token = str | Start | End | Comment


def tokens(html: str) -> Iterator[Token]:
    """Read markup as tokens; character references in text are decoded."""
    at = 0
    while (opening := _OPENING.search(html, at)) is not None:
        if opening.start() > at:
            yield unescape(html[at : opening.start()])
        if not opening[0][-1].isalpha():
            yield Comment()
            at = _past_comment(html, opening.start())
            continue
        ending = opening[0][1] == "/"
        name, attributes, slashed, at = _tag(html, opening.end() - 1)
        if not at:
            return
        yield End(name) if ending else Start(name, attributes, slashed)
        if not ending and not slashed and name in RAW_TEXT:
            closing = re.compile(rf"</{name}(?=[{_SPACE}/>])", re.IGNORECASE).search(html, at)
            end = closing.start() if closing is not None and name != "plaintext" else len(html)
            yield html[at:end]
            at = end
    if at < len(html):
        yield unescape(html[at:])


def _past_comment(html: str, start: int) -> int:
    mark = "-->" if html.startswith("<!--", start) else ">"
    # `<!-->` and `<!--->` are comments too.
    end = html.find(mark, start + 2)
    return len(html) if end < 0 else end + len(mark)


def _tag(html: str, at: int) -> tuple[str, list[tuple[str, str]], bool, int]:
    """Read a tag from its name on; the returned position after it is 0 if the tag is unfinished."""
    named = _TAG_NAME.match(html, at)
    name, at = (named[0].lower(), named.end()) if named else ("", at)
    attributes: list[tuple[str, str]] = []
    while (found := _ATTRIBUTE.match(html, at)) is not None and found.end() < len(html):
        at = found.end()
        if not found[1]:  # only `>` can stand here
            return name, attributes, found[0].endswith("/"), at + 1
        value = ""
        if (equals := _EQUALS.match(html, at)) is not None:
            value, at = _value(html, equals.end())
        attributes.append((found[1].lower(), unescape(value)))
    return name, attributes, False, 0


def _value(html: str, at: int) -> tuple[str, int]:
    quote = html[at : at + 1]
    if quote not in ('"', "'"):
        bare = _BARE.match(html, at)
        return (bare[0], bare.end()) if bare else ("", at)
    end = html.find(quote, at + 1)
    return (html[at + 1 :], len(html)) if end < 0 else (html[at + 1 : end], end + 1)
