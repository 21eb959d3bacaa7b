"""What models are made of: a place for unlisted keys, a memory of how a document was written, and open vocabularies.

The specification leaves many fields "not shown" and promises no compatibility policy (section 9, rule 5). So a model
keeps what it does not know (`extra`), and remembers the two things that its fields cannot say: which keys were absent
rather than null, and how each timestamp was spelled. `cmsapi.to_dict` gives the document back from that.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import attrs

from cmsapi.api.operations import Provenance
from cmsapi.display import markup
from cmsapi.guesses import Hinting

# Metadata of a field that the specification does not show. A field without metadata is stated by the specification.
PUBLISHED: Mapping[str, Provenance] = {"provenance": Provenance.PUBLISHED}
ASSUMED: Mapping[str, Provenance] = {"provenance": Provenance.ASSUMED}
# Metadata of an identifier without which the document is useless, because the resource is asked for by it. Any other
# identifier may be missing or of another type, like a field that the specification does not show.
REQUIRED: Mapping[str, bool] = {"required": True}
# Metadata of a field whose value may be of another type, although the specification shows which.
LENIENT: Mapping[str, bool] = {"lenient": True}


class Extra(Mapping[str, Any]):
    """Hold the unlisted keys of a document, read-only.

    Unlike a `types.MappingProxyType`, it can be pickled and copied.

    Args:
        items: Wire names and their JSON values.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = dict(items)

    def __getitem__(self, name: str) -> Any:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(self._items)

    def __reduce__(self) -> tuple[Any, ...]:
        return Extra, (self._items,)


# Shared by all models of ordinary documents: no unlisted key, no absent key.
NOTHING_ELSE = Extra({})
NONE_ABSENT: frozenset[str] = frozenset()


def _read_only(items: Mapping[str, Any]) -> Mapping[str, Any]:
    return items if isinstance(items, Extra) else Extra(items)


@attrs.frozen(kw_only=True)
class Model(Hinting):
    """Describe a resource of the service, or a part of one; read-only, and equal to its equals.

    Args:
        extra: Keys of the document that neither the specification nor this package lists, by wire name.
        absent_keys: Wire names of the listed keys that the document lacks; None for a model built by hand.
        time_texts: Each time of the document, followed by its text, in the order of the fields.
    """

    # Values in `extra` may be lists and objects, so it takes part in equality but not in the hash.
    extra: Mapping[str, Any] = attrs.field(default=NOTHING_ELSE, converter=_read_only, hash=False, repr=False)
    # What the fields cannot say: the converter sets it, and writing a model goes by it.
    absent_keys: frozenset[str] | None = attrs.field(default=None, eq=False, repr=False)
    time_texts: tuple[Any, ...] = attrs.field(default=(), eq=False, repr=False)

    def lacks(self, name: str) -> bool:
        """Tell whether the document that was read had no such key, by its wire name."""
        return name in (self.absent_keys or ())

    def to_dict(self, *, style: Literal["wire", "python"] = "wire") -> dict[str, Any]:
        """Return the model as a dictionary, as `cmsapi.to_dict` does.

        Args:
            style: `"wire"` gives the document as the service writes it, for JSON; `"python"` gives every field by its
                name in Python, with its value.

        Raises:
            ArgumentError: `style` is another word.
        """
        # Not at the top: the converter is made of models.
        from cmsapi.api.wire.converter import to_dict

        return to_dict(self, style=style)

    def _repr_html_(self) -> str:
        return markup.record(self)


@attrs.frozen(kw_only=True)
class Pagination(Model):
    """Describe the place of a page in its list (specification, section 1, convention 3).

    Args:
        total: Number of items in the whole list.
        page: Number of the page, from 1.
        limit: Largest number of items on a page, 1 to 100.
        has_more: Whether another page follows.

    Each of them is None where the service does not say it in that type.
    """

    # A list that can be read must not be refused because of them.
    total: int = attrs.field(metadata=LENIENT)
    page: int = attrs.field(metadata=LENIENT)
    limit: int = attrs.field(metadata=LENIENT)
    has_more: bool = attrs.field(metadata=LENIENT)


class OpenEnum(enum.StrEnum):
    """Describe an open vocabulary: its listed words are members, and any other word is a value, too.

    The specification lists some words of some vocabularies ("other values: not shown", section 3). A plain `Enum`
    raises on an unseen word, and one new status would make a whole page unreadable.

    `Status("new-word")` works, equals and hashes like the string, and has `known` false. Such a value is made afresh
    each time: the enumeration itself never grows.
    """

    @property
    def known(self) -> bool:
        """Whether the word is listed."""
        return self._value_ in type(self)._value2member_map_

    def __repr__(self) -> str:
        # The name of an unlisted word is the word.
        return f"<{type(self).__name__}.{markup.plain(self._name_)}: {self._value_!r}>"

    # Python before 3.11.4 would look for a member of that name, and an unlisted word is none.
    def __reduce_ex__(self, proto: object) -> tuple[Any, ...]:
        return type(self), (self._value_,)

    @classmethod
    def _missing_(cls, value: object) -> OpenEnum | None:
        if not isinstance(value, str):
            return None
        word = str.__new__(cls, value)
        word._name_ = word._value_ = str(value)
        return word
