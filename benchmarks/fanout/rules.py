"""The rules that say when the SDK polls, each with what switches it off, so that its worth can be measured.

A rule is switched off by putting a neutral value into the place of a constant or a function. A place that does not
exist any more is an error: the list has to follow the code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

import attrs


@attrs.frozen
class Rule:
    """Describe a rule.

    Args:
        says: The rule in a sentence.
        neutral: The value that switches it off, by the place where it goes.
    """

    says: str
    neutral: Mapping[str, Any]

    def switch_off(self) -> None:
        """Switch the rule off in this process, for good."""
        for place, value in self.neutral.items():
            patch(place, value).start()


_PLANNING, _SCHEDULING = "cmsapi.jobs.planning", "cmsapi.jobs.scheduling"
#: The row that shows how much is chance.
AGAIN = "nothing (A/A)"
RULES: Mapping[str, Rule] = {
    AGAIN: Rule("the full policy, with other lots", {"benchmarks.fanout.product.LOTS": "again"}),
    "exploration": Rule("a part of the extra requests is spent on early polls", {f"{_SCHEDULING}.misses._PART": 0.0}),
    "putting off": Rule(
        "polls of a load are put off when too many find their jobs running", {f"{_SCHEDULING}.misses._CHANCE": 1e9}
    ),
    "kept for the last": Rule(
        "the last jobs have some requests to themselves",
        {f"{_SCHEDULING}.policy.kept_for_the_last": lambda age, returns: 0.0},
    ),
    "worth of launches": Rule(
        "while jobs wait to be launched, a request is worth at most its part of the hour that a launch waits",
        {f"{_PLANNING}.budget.Load.launch_price": 1e5},
    ),
    "others go on": Rule(
        "what other programs with the key will use until the jobs end is left to them",
        {"cmsapi.ratelimit.foreign_growth.ForeignGrowth.expected": lambda *_, **__: 0.0},
    ),
    "lots": Rule(
        "jobs that are polled as advised wait a little longer or shorter", {f"{_SCHEDULING}.policy._LOT": 0.0}
    ),
    "doubt of reads": Rule("reads of pages are reckoned with twice", {f"{_SCHEDULING}.policy._READS_DOUBT": 1.0}),
    "growth of pages": Rule(
        "a page is read again when a job on it is much older, whatever is believed",
        {f"{_SCHEDULING}.list_page._GROWTH": 1e9},
    ),
    "long tail": Rule(
        "a job that has outlived all others is expected to end after a time in proportion to its age",
        {f"{_PLANNING}.durations._TAIL": 1e-9},
    ),
    "lists": Rule(
        "one page of a list shows many jobs",
        {f"{_SCHEDULING}.listings.Listings.wants": lambda *_, **__: False},
    ),
}
