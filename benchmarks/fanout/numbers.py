"""The numbers of the rules that say when the SDK polls: each halved and doubled, to show what it is worth.

A number that changes nothing by a factor of four could be another one, or none.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping

from benchmarks.fanout.rules import Rule

_PLANNING, _SCHEDULING = "cmsapi.jobs.planning", "cmsapi.jobs.scheduling"
_PLACES = {
    f"{_PLANNING}.budget": ("_NEARLY_ALL", "FIRST_AGE"),
    f"{_PLANNING}.durations": ("_GUESS", "_USUAL_SPREAD", "_SPREAD", "_PRIOR", "_TAIL", "_TAIL_SPREAD", "MEMORY"),
    f"{_PLANNING}.schedule": ("_FLOOR",),
    f"{_SCHEDULING}.admission": ("_UNKNOWN_LIFE",),
    f"{_SCHEDULING}.list_page": ("_WORTH", "_SPARE_WORTH", "_FEW", "_GROWTH"),
    f"{_SCHEDULING}.listings": ("_EXPECTED", "_WORTHWHILE"),
    f"{_SCHEDULING}.misses": ("FIRST_AGE", "_PART", "_ENOUGH_ENDS", "_CHANCE", "_CHANCE_PART", "_GROWTH"),
    f"{_SCHEDULING}.policy": ("_EXPLORING", "_STALE", "_SOON", "_LOT", "_READS_DOUBT"),
}


def _changed(place: str) -> Mapping[str, Rule]:
    """Return a number halved and doubled; a share is taken from the other side where it would be more than all."""
    value = pkgutil.resolve_name(place)
    name = place.removeprefix("cmsapi.jobs.")
    less, more = value / 2.0, 2.0 * value
    if name.endswith("_NEARLY_ALL"):
        less, more = 1.0 - 2.0 * (1.0 - value), 1.0 - (1.0 - value) / 2.0
    return {f"{name} = {number:g}": Rule(f"{value:g} as a rule", {place: number}) for number in (less, more)}


#: The variants, by name and number.
NUMBERS: Mapping[str, Rule] = {
    name: rule
    for module, names in _PLACES.items()
    for place in names
    for name, rule in _changed(f"{module}.{place}").items()
}
