"""Articles, related phrases, and the score of a text for a phrase."""

from __future__ import annotations

import functools
import html
import math
import random
import zlib
from typing import Any

from cmsapi.sandbox.texts.markup import tokens

PUBLISHERS = ("northpost", "daily-stride", "fieldnotes", "open-shelf", "the-bench", "weekend-lab", "quiet-press")
_OPENINGS = (
    "Most people start with {}, and most of them start too late",
    "Before choosing {}, write down what you will use it for",
    "The price of {} says less than its maker would like",
    "A year of {} teaches what no brochure does",
    "There are three good reasons for {} and one bad one",
)
_CLOSINGS = (
    "so compare two of them side by side",
    "which is why the second opinion matters",
    "and that is easier to judge after a week",
    "although the shop will not tell you",
    "and a simple list is enough to decide",
)
_SECTIONS = ("What it is", "How to choose", "What it costs", "Mistakes to avoid", "Where to go from here")
_QUALIFIERS = ("best", "cheap", "beginner", "how to choose", "reviews of", "alternatives to", "care for", "repair of")
_ENDINGS = ("", " at home", " in winter", " for women", " for men", " on a budget", " near me", " explained")
_ENOUGH_WORDS = 1800


def write_article(rng: random.Random, phrase: str, title: str, *, fact_checks: bool) -> str:
    """Write an article that contains an editor's annotations."""
    subject = html.escape(phrase)
    parts = [f"<h1>{html.escape(title)}</h1>", "<!-- generated draft: read before publishing -->"]
    for section in _SECTIONS:
        parts.append(f"<h2>{section}</h2>")
        for _ in range(rng.randint(1, 4)):
            sentences = [_sentence(rng, subject) for _ in range(4)]
            if fact_checks:
                sentences[1] = f'<mark data-fact-check="to verify">{sentences[1]}</mark>'
            parts.append(f"<p>{' '.join(sentences)}</p>")
    parts.append(f'<p><span data-comment="a source would help here">{_sentence(rng, subject)}</span></p>')
    return "\n".join(parts)


def related_phrases(rng: random.Random, phrase: str, count: int | None = None) -> list[str]:
    """Return some phrases related to another, without duplicates: as many as asked for, or 5 to 40."""
    phrases = [f"{qualifier} {phrase}{ending}" for qualifier in _QUALIFIERS for ending in _ENDINGS]
    if count is None:
        return rng.sample(phrases, rng.randint(5, 40))
    return [f"{phrases[n % len(phrases)]}{f' {n // len(phrases)}' if n >= len(phrases) else ''}" for n in range(count)]


def count_words(markup: str) -> int:
    """Count the words of an HTML body."""
    return len(_text(markup).split())


def score(phrase: str, title: str, markup: str) -> int:
    """Score a text for a phrase from 0 to 100, by its length, its title and the frequency of the phrase's words."""
    text = _text(markup)
    if not text.strip():
        return 0
    length = min(1.0, len(text.split()) / _ENOUGH_WORDS)
    # The first times count most.
    fits = [math.sqrt(min(1.0, line["count"] / line["recommended"])) for line in recommendations(phrase, markup)]
    named = 1.0 if phrase.casefold() in title.casefold() else 0.0
    return round(100 * (0.4 * length + 0.5 * sum(fits) / max(1, len(fits)) + 0.1 * named))


def recommendations(phrase: str, markup: str) -> list[dict[str, Any]]:
    """Return how often each word of a phrase occurs and how often it should."""
    text = _text(markup).casefold()
    terms = dict.fromkeys(phrase.casefold().split()[:20])
    return [{"term": term, "count": text.count(term), "recommended": _recommended(term)} for term in terms]


def _recommended(term: str) -> int:
    """Return how often a word should occur: as with a real service, that differs from word to word."""
    return 30 + zlib.crc32(term.encode()) % 300


# Words, terms and score are counted in the same text, and all sandboxes of a seed begin with the same texts.
@functools.lru_cache(maxsize=32)
def _text(markup: str) -> str:
    return "".join(token if isinstance(token, str) else " " for token in tokens(markup))


def _sentence(rng: random.Random, subject: str) -> str:
    return f"{rng.choice(_OPENINGS).format(subject)}, {rng.choice(_CLOSINGS)}."
