"""`htmlSanitized`: annotations gone, text kept, nothing dangerous (specification, section 2.4)."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, strategies as st

from cmsapi.sandbox.texts.articles import count_words
from cmsapi.sandbox.texts.markup import Comment, End, Start, Token, tokens
from cmsapi.sandbox.texts.sanitize import sanitize

PIECES = (
    "<script>",
    "</script>",
    "<script src=//evil>",
    "<img src=x onerror=alert(1)>",
    "<a href='java\tscript:alert(1)'>",
    '<a href="&#106;avascript:alert(1)">',
    "<a href=data:text/html,x>",
    "</a>",
    "<p onclick=x>",
    "<p/onclick=x>",
    "</p>",
    "<svg/onload=alert(1)>",
    "</svg>",
    "<iframe srcdoc='<script>'>",
    "<!--",
    "-->",
    "<![CDATA[",
    "<![if x]>",
    "]]>",
    "<?php",
    "<!doctype html>",
    "<style>",
    "</style>",
    "<textarea>",
    '<span data-comment="x">',
    "<span>",
    "</span>",
    "<mark data-fact-check=x>",
    "</mark>",
    "<",
    ">",
    '"',
    "'",
    "=",
    "&lt;script&gt;",
    "&#0;",
    "&notit;",
    "\0",
    "\r",
    "text",
    "<style/>",
    "<br/>",
)
markup = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))


class Reader(HTMLParser):
    """Collect the parts of a document."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.others: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_decl(self, decl: str) -> None:
        self.others.append(decl)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)


@given(markup)
def test_nothing_dangerous_survives(text: str) -> None:
    """No script, handler, foreign scheme, comment or marker is left, however broken the markup."""
    reader = Reader()
    reader.feed(sanitize(text))
    reader.close()
    assert reader.others == []
    for tag, attributes in reader.tags:
        assert tag not in {"script", "style", "iframe", "svg", "object", "embed", "textarea", "form", "base", "meta"}
        assert not [name for name in attributes if name.startswith("on") or name in {"style", "srcdoc", "data-comment"}]
        assert not (tag == "mark" and "data-fact-check" in attributes)
        for name in ("href", "src"):
            address = re.sub(r"[\x00-\x20]", "", attributes.get(name) or "").lower()
            assert not address.startswith(("javascript:", "data:", "vbscript:"))


@given(markup)
def test_sanitising_twice_changes_nothing(text: str) -> None:
    """Clean markup stays as it is."""
    assert sanitize(text) == sanitize(sanitize(text))


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40))
def test_plain_text_is_kept(text: str) -> None:
    """Escaped text comes back as it was."""
    assert text == html.unescape(sanitize(html.escape(text))) or "&" in text or "\r" in text


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("<p>a<!-- note -->b</p>", "<p>ab</p>"),
        ('<p><span data-comment="why?">text</span></p>', "<p>text</p>"),
        ('<mark data-fact-check="x">fact</mark>', "fact"),
        ('<span data-comment="x">a<span class="k">b</span>c</span>d', 'a<span class="k">b</span>cd'),
        ("<mark>kept</mark>", "<mark>kept</mark>"),
        ("<script>alert(1)</script>after", "after"),
        ("<svg><svg></svg><script>x</script></svg>after", "after"),
        (
            '<a href="https://a.example/?x=1&amp;y=2" onclick="x()">l</a>',
            '<a href="https://a.example/?x=1&amp;y=2">l</a>',
        ),
        ('<a href="javascript:x()">l</a>', "<a>l</a>"),
        ('<a href="/path:x">l</a><img src="x.png" alt>', '<a href="/path:x">l</a><img src="x.png" alt="">'),
        ("<p>open <b>still", "<p>open <b>still</b></p>"),
        ("stray</b></p> end", "stray end"),
        ("<blink>text</blink>", "text"),
        ("a < b & c", "a &lt; b &amp; c"),
        ("<br/>line<hr>", "<br>line<hr>"),
        ("<script/>gone", "gone"),
        ("<p><b>x</p>y</b>", "<p><b>x</b></p>y"),
    ],
)
def test_markup_by_example(dirty: str, clean: str) -> None:
    """Each kind of markup has one outcome."""
    assert clean == sanitize(dirty)


@pytest.mark.parametrize(
    "piece", ["<a ", "<a b='", '<a b="', "<a/", "<x y=z ", "<!--", "<b></i>", "<svg></p>", "<", "</a "]
)
def test_hostile_markup_is_read_in_one_go(piece: str) -> None:
    """Sanitising and counting half a megabyte of unfinished markup takes linear time."""
    hostile = piece * (500_000 // len(piece))
    assert "<a" not in sanitize(hostile)
    assert count_words(hostile) >= 0


@pytest.mark.parametrize(
    ("markup", "read"),
    [
        ("a<b>c</b>", ["a", Start("b", [], False), "c", End("b")]),
        ("<A HREF='x&amp;y' b c=d/>", [Start("a", [("href", "x&y"), ("b", ""), ("c", "d/")], False)]),
        ("<br/><br / >", [Start("br", [], True), Start("br", [], False)]),
        ("<p =x>", [Start("p", [("=x", "")], False)]),
        ("<title><b>&amp;</title >", [Start("title", [], False), "<b>&amp;", End("title")]),
        ("<script>1</scripty></SCRIPT>2", [Start("script", [], False), "1</scripty>", End("script"), "2"]),
        ("<!-- > --><!doctype x><?php x ?></ x>!", [Comment(), Comment(), Comment(), Comment(), "!"]),
        ("<plaintext>a</plaintext>", [Start("plaintext", [], False), "a</plaintext>"]),
        ("1 < 2 <3 &lt;b> <", ["1 < 2 <3 <b> <"]),
        ("a<b", ["a"]),
        ("a<!-- b", ["a", Comment()]),
        ("<a b='c>", []),
    ],
)
def test_tokens_by_example(markup: str, read: list[Token]) -> None:
    """Markup is read as in browsers; an unfinished tag ends the document."""
    assert read == list(tokens(markup))
