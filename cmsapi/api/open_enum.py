"""Enumerations that a new word cannot break.

The specification lists some words of some vocabularies ("other values: not shown", section 3). A plain `Enum` raises on
an unseen word, and one new status would make a whole page unreadable.
"""

from __future__ import annotations

import enum

from cmsapi.display.markup import plain


class OpenEnum(enum.StrEnum):
    """Describe a vocabulary whose listed words are members and whose other words are values just as good.

    `Status("new-word")` works, equals and hashes like the string, and has `known` false. Such a value is made afresh
    each time: the enumeration itself never grows.
    """

    @property
    def known(self) -> bool:
        """Whether the word is listed."""
        return self._value_ in type(self)._value2member_map_

    def __repr__(self) -> str:
        # The name of an unlisted word is the word.
        return f"<{type(self).__name__}.{plain(self._name_)}: {self._value_!r}>"

    @classmethod
    def _missing_(cls, value: object) -> OpenEnum | None:
        if not isinstance(value, str):
            return None
        word = str.__new__(cls, value)
        word._name_ = word._value_ = str(value)
        return word
