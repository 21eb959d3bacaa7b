"""Models to documents: what `cattrs.gen` cannot know, since it is about one model and not about its class.

A document that was read comes out as it came in. Its absent keys stay absent, its times keep their texts, and its
unlisted keys are there, unless a field has another value now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cmsapi.api.model import NONE_ABSENT, NOTHING_ELSE, Model
from cmsapi.api.wire.times import spell_time

Writer = Callable[[Model], dict[str, Any]]


def lossless(write: Writer, times: Iterable[str]) -> Writer:
    """Complete a function that writes the listed fields of a model.

    Args:
        write: Writes the fields by their wire names, and times as they are.
        times: Wire names of the times, in the order of the fields.
    """
    places = [(wire, 2 * place) for place, wire in enumerate(times)]
    no_texts = (None, None) * len(places)

    def write_losslessly(model: Model) -> dict[str, Any]:
        document = write(model)
        if places:
            texts = model.time_texts or no_texts
            for wire, place in places:
                time = document[wire]
                if time is texts[place]:
                    document[wire] = texts[place + 1]
                elif time is not None:
                    document[wire] = spell_time(time)
        if model.absent_keys is not NONE_ABSENT:
            document = _without(model.absent_keys, document)
        if model.extra is not NOTHING_ELSE:
            # A value that did not fit into its field gives way to one that does.
            document |= {wire: copied(value) for wire, value in model.extra.items() if document.get(wire) is None}
        return document

    return write_losslessly


def _without(absent: frozenset[str] | None, document: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was absent and still has no value; of a model built by hand, all that has no value."""
    if absent is None:
        return {wire: value for wire, value in document.items() if value is not None}
    return {wire: value for wire, value in document.items() if value not in (None, []) or wire not in absent}


def copied(value: Any) -> Any:
    """Copy nested lists and objects, however deep, so that no change of them changes a model."""
    holder = [value]
    holders: list[Any] = [holder]
    while holders:
        around = holders.pop()
        for place, each in around.items() if type(around) is dict else enumerate(around):
            if type(each) is dict or type(each) is list:
                around[place] = each.copy()
                holders.append(around[place])
    return holder[0]
