"""What the service of a run is like: each seed draws some of what services do and the specification does not show.

A client survives all of it, and finishes each job: what lags catches up within two minutes, and each word that stands
for one of the specification is one that a reader would understand. Only unlisted words cannot be understood.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from cmsapi.sandbox import Behaviour

_DIFFERENT_CLOCKS = "clocks that differ"
_UNLISTED_WORDS = "unlisted words"
_SYNONYMS = {
    "success": ("COMPLETED", "completed", "done", "succeeded", "SUCCESS", " Success "),
    "failed": ("error", "FAILED", " Failed"),
    "pending": ("running", "processing", "in_progress", "PENDING", " Running "),
    "queued": ("QUEUED", " Queued "),
    "review": ("REVIEW", " Review "),
}
_IN_LISTS = ("list_content_ideas", "list_keywords", "list_prompts", "list_users", "list_workspace_members")

Settings = dict[str, Any]
Draw = Callable[[random.Random], Settings]


@attrs.frozen
class Habits:
    """What a service is like.

    Args:
        names: What was drawn.
        behaviour: The settings of the sandbox.
    """

    names: tuple[str, ...]
    behaviour: Behaviour

    @property
    def odd_clocks(self) -> bool:
        """Whether its clocks differ."""
        return _DIFFERENT_CLOCKS in self.names

    @property
    def unlisted_words(self) -> bool:
        """Whether it writes status words that no client can understand."""
        return _UNLISTED_WORDS in self.names


def draw_habits(seed: object, *, in_real_time: bool = False) -> Habits:
    """Draw what a service is like.

    Args:
        seed: Seed of the run.
        in_real_time: Whether a run lasts some seconds, in which nothing can lag and then catch up.
    """
    # The clocks and the keywords of a seed do not depend on the other habits.
    names, settings = _draw_books(random.Random(f"{seed}:habits"))
    rng = random.Random(f"{seed}:oddities")
    for name, (chance, draw) in _ODDITIES.items():
        if rng.random() >= chance or (in_real_time and name in _TIMED):
            continue
        drawn = draw(rng)
        if not drawn.keys() & settings.keys():
            names.append(name)
            settings |= drawn
    return Habits(tuple(names), Behaviour(**settings))


def _draw_books(rng: random.Random) -> tuple[list[str], Settings]:
    """Draw what the evidence of launches is like: a third have clocks that differ, a third spell in their own way."""

    def clocks() -> tuple[float, ...]:
        return tuple(rng.choice((0.0, rng.uniform(-10.0, 10.0), -4.0, 4.0)) for _ in range(rng.choice((1, 2, 3))))

    names: list[str] = []
    settings: Settings = {}
    odd_clocks, odd_keywords = rng.random() < 1 / 3, rng.random() < 1 / 3
    if odd_clocks:
        names.append(_DIFFERENT_CLOCKS)
        settings |= {"date_ahead": clocks(), "stamps_ahead": clocks()}
    if odd_keywords:
        names.append("keywords of usages spelled otherwise")
        settings["usage_keyword"] = rng.sample(("lower", "trimmed", "nfc", "cut"), 3)
        settings["usage_country"] = rng.choice(("same", "lower"))
    return names, settings


def _stale_reads(rng: random.Random) -> Settings:
    return {"replica_lag": rng.choice((3.0, 10.0, 25.0)), "replica_share": rng.choice((0.1, 0.3, 0.6))}


def _late_existence(rng: random.Random) -> Settings:
    return {"replica_lag": rng.uniform(20.0, 100.0), "replica_share": 1.0}


def _late_ideas(rng: random.Random) -> Settings:
    return {"ideas_lag": rng.uniform(5.0, 40.0)}


def _cut_ideas(rng: random.Random) -> Settings:
    return {"ideas_cap": rng.randint(0, 4)}


def _synonyms(rng: random.Random) -> Settings:
    return {"words": {word: rng.choice(ways) for word, ways in _SYNONYMS.items() if rng.random() < 0.7}}


def _unlisted_words(rng: random.Random) -> Settings:
    return {
        "words": rng.choice(
            ({"pending": "harvesting", "queued": "harvesting"}, {"success": "tasty", "review": "tasty"})
        )
    }


def _missing_ids(rng: random.Random) -> Settings:
    lists = rng.sample(_IN_LISTS, rng.randint(1, len(_IN_LISTS)))
    return {"item_ids": {name: rng.choice(("absent", "null", "number")) for name in lists}}


def _terse_pages(rng: random.Random) -> Settings:
    return {
        "has_more": rng.choice(("null", "absent")),
        "total": rng.choice(("told", "absent")),
        "ideas": rng.choice((None, 100, 230)),
    }


def _endless_ideas(rng: random.Random) -> Settings:
    return {"endless_lists": {"list_content_ideas"}, "total": rng.choice(("told", "absent"))}


# Of two that change the same setting the first one counts.
_ODDITIES: Mapping[str, tuple[float, Draw]] = {
    _UNLISTED_WORDS: (0.06, _unlisted_words),
    "words written otherwise": (0.25, _synonyms),
    "new work not found at first": (0.15, _late_existence),
    "stale reads": (0.3, _stale_reads),
    "ideas listed late": (0.2, _late_ideas),
    "fewer ideas than told": (0.1, _cut_ideas),
    "items without identifiers": (0.25, _missing_ids),
    "pages that tell less": (0.2, _terse_pages),
    "ideas without end": (0.1, _endless_ideas),
}
_TIMED = {
    _UNLISTED_WORDS,
    "new work not found at first",
    "stale reads",
    "ideas listed late",
    "fewer ideas than told",
}
