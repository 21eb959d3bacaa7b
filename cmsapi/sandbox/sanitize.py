"""`htmlSanitized`: a body without editor annotations, safe to publish externally (specification, section 2.4).

Comments, `<span data-comment>` and `<mark data-fact-check>` go, their text stays. What remains is written anew from
a list of harmless elements and attributes, so that a script, an event handler or a `javascript:` address has no way
through, however the markup is broken.
"""

from __future__ import annotations

import functools
from html import escape
from html.parser import HTMLParser


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


@functools.lru_cache(maxsize=256)  # a content is read more often than written
def sanitized(html: str) -> str:
    """Return a body that is safe to publish.

    Args:
        html: Body as authored in the editor.
    """
    writer = _Writer()
    # Python's parser raises on unknown marked sections; browsers read them as comments.
    writer.feed(html.replace("\0", "").replace("<![", "<!x"))
    writer.close()
    return writer.result()


class _Writer(HTMLParser):
    """Write the harmless part of what is read."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._out: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _WITH_CONTENT:
            self._hidden.append(tag)
        if self._hidden or tag not in _ELEMENTS:
            return
        marker = _MARKERS.get(tag)
        kept = marker is None or all(name != marker for name, _ in attrs)
        if kept:
            self._out.append(f"<{tag}{_attributes(attrs)}>")
        if tag not in _VOID:
            self._open.append((tag, kept))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # In HTML a slash closes nothing but what is void anyway.
        if tag not in _WITH_CONTENT:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            if tag in self._hidden:
                while self._hidden.pop() != tag:
                    pass
        elif any(tag == open_tag for open_tag, _ in self._open):
            while self._close_last() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._out.append(escape(data, quote=False))

    def result(self) -> str:
        """Close what is still open and return what was written."""
        while self._open:
            self._close_last()
        return "".join(self._out)

    def _close_last(self) -> str:
        tag, kept = self._open.pop()
        if kept:
            self._out.append(f"</{tag}>")
        return tag


def _attributes(attrs: list[tuple[str, str | None]]) -> str:
    kept = {name: value or "" for name, value in reversed(attrs) if name in _ATTRIBUTES}
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
