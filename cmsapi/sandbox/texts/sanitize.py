"""`htmlSanitized`: a body without editor annotations, safe to publish externally (specification, section 2.4).

Comments and the tags `<span data-comment>` and `<mark data-fact-check>` are removed, the text inside the tags is not.
The output is written from a list of harmless elements and attributes. No script, event handler or `javascript:` address
passes, however broken the markup is.
"""

from __future__ import annotations

import functools
from collections import Counter
from html import escape

from cmsapi.sandbox.texts.markup import End, Start, tokens


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VOID = _words("br hr img col wbr")
_ELEMENTS = _VOID | _words(
    "a abbr article aside b blockquote caption cite code colgroup dd del details dfn div dl dt em figcaption figure "
    "footer h1 h2 h3 h4 h5 h6 header i ins kbd li main mark nav ol p pre q s samp section small span strong sub "
    "summary sup table tbody td tfoot th thead time tr u ul var"
)
_WITH_CONTENT = _words(
    "applet audio canvas embed frame frameset head iframe math noembed noframes noscript object plaintext script "
    "select style svg template textarea title video xmp"
)
_ATTRIBUTES = _words(
    "abbr alt cite class colspan datetime dir headers height href id lang open rel reversed rowspan scope span src "
    "start target title type value width"
)
_ADDRESSES = frozenset({"href", "src", "cite"})
_SCHEMES = frozenset({"http", "https", "mailto", "tel"})
_MARKERS = {"span": "data-comment", "mark": "data-fact-check"}


@functools.lru_cache(maxsize=256)  # contents are read more often than written
def sanitize(html: str) -> str:
    """Return a body that is safe to publish.

    Args:
        html: Body as authored in the editor.
    """
    writer = _Writer()
    for token in tokens(html.replace("\0", "")):
        match token:
            case str():
                writer.text(token)
            case Start():
                writer.start(token)
            case End():
                writer.end(token.name)
    return writer.result()


class _Writer:
    """Write the harmless part of the tokens."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self._hidden: list[str] = []
        # How often each element is open, so that an end tag without a start tag costs no search.
        self._opened: Counter[str] = Counter()

    def start(self, tag: Start) -> None:
        name = tag.name
        if name in _WITH_CONTENT:
            if tag.slashed:
                return
            self._hidden.append(name)
            self._opened[name] += 1
        if self._hidden or name not in _ELEMENTS:
            return
        marker = _MARKERS.get(name)
        kept = marker is None or all(attribute != marker for attribute, _ in tag.attributes)
        if kept:
            self._out.append(f"<{name}{_attributes(tag.attributes)}>")
        if name not in _VOID:
            self._open.append((name, kept))
            self._opened[name] += 1

    def end(self, name: str) -> None:
        if not self._opened[name] or bool(self._hidden) != (name in _WITH_CONTENT):
            return
        close = self._show_last if self._hidden else self._close_last
        while close() != name:
            pass

    def text(self, text: str) -> None:
        if not self._hidden:
            self._out.append(escape(text, quote=False))

    def result(self) -> str:
        """Close the open elements and return the output."""
        while self._open:
            self._close_last()
        return "".join(self._out)

    def _show_last(self) -> str:
        name = self._hidden.pop()
        self._opened[name] -= 1
        return name

    def _close_last(self) -> str:
        name, kept = self._open.pop()
        self._opened[name] -= 1
        if kept:
            self._out.append(f"</{name}>")
        return name


def _attributes(attributes: list[tuple[str, str]]) -> str:
    # The first of repeated attributes counts.
    kept = {name: value for name, value in reversed(attributes) if name in _ATTRIBUTES}
    return "".join(
        f' {name}="{escape(value)}"'
        for name, value in reversed(kept.items())
        if name not in _ADDRESSES or _harmless(value)
    )


def _harmless(address: str) -> bool:
    # Browsers ignore white space and control characters inside a scheme.
    squeezed = "".join(character for character in address if character > " " and not 0x7F <= ord(character) <= 0x9F)
    scheme, colon, _ = squeezed.partition(":")
    return not colon or any(mark in scheme for mark in "/?#") or scheme.lower() in _SCHEMES
