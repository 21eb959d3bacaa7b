"""Identifiers and API keys that depend on a seed."""

from __future__ import annotations

import re
from collections import Counter

from cmsapi.sandbox.randomness.seeded import seeded_random

_KEY = re.compile(r"sk_[A-Za-z0-9_-]+", re.ASCII)
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class Identifiers:
    """Make identifiers such as `usr_01hx…`: the nth of a prefix depends on the seed and n only.

    Args:
        seed: Seed of the sandbox.
        odd: Whether identifiers contain characters that must be percent-encoded in a path.
    """

    def __init__(self, seed: object, *, odd: bool = False) -> None:
        self._seed = seed
        self._mark = " /%2F?#&é" if odd else "_"
        self._counts: Counter[str] = Counter()

    def new(self, prefix: str) -> str:
        """Return the next identifier of a prefix: the prefix, an underscore (or odd characters) and 26 characters."""
        self._counts[prefix] += 1
        letters = seeded_random(self._seed, prefix, self._counts[prefix]).choices(_ALPHABET, k=22)
        return f"{prefix}{self._mark}01hx{''.join(letters)}"


class RequestIds:
    """Make the identifiers of requests, such as `req_7c9e6679f4e5`; the nth depends on the seed and n only."""

    def __init__(self, seed: object) -> None:
        self._rng = seeded_random(seed, "request")

    def new(self) -> str:
        """Return the next identifier."""
        return f"req_{self._rng.getrandbits(64):016x}"


def checked_api_key(text: str) -> str:
    """Return an API key that a person chose.

    Raises:
        ValueError: The text is not an API key (specification, section 5, rule 2).
    """
    if not _KEY.fullmatch(text):
        raise ValueError("an API key must be sk_ followed by at least one letter, digit, - or _")
    return text


def api_key(seed: object, label: str) -> str:
    """Return an API key (specification, section 5, rule 2) that depends on the seed and the label only."""
    return "sk_" + "".join(seeded_random(seed, "key", label).choices(_ALPHABET, k=40))
