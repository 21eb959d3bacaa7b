"""The tables of the reference that follow from the code: the operations, and what each method of a resource costs."""

from __future__ import annotations

import cmsapi
from benchmarks.virtual import in_virtual_time
from tests.support.costs import METHODS, measured, row
from tools.interface.public import ROOT

#: Where the tables are, below the root of a checkout. Pages of the reference include them.
OPERATIONS, COSTS = "docs/reference/operations.txt", "docs/reference/costs.txt"

_KNOWN = {
    cmsapi.Provenance.SPEC: "specified",
    cmsapi.Provenance.PUBLISHED: "published",
    cmsapi.Provenance.ASSUMED: "assumed",
}


def of_operations() -> str:
    """Return the table of operations."""
    rows = [
        f"| `{each.name}` | `{each.route}` | {_KNOWN[each.provenance]} | `{each.replay.name}` |"
        for each in cmsapi.OPERATIONS.values()
    ]
    return "\n".join(["| name | route | known | replay |", "|---|---|---|---|", *rows]) + "\n"


async def of_costs() -> str:
    """Call each method on a sandbox, and return the table of costs."""
    rows = [row(name, (await measured(name))[0]) for name in METHODS]
    head = ["| method | requests | credits | operations | lost answer | section |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"


def write() -> None:
    """Write both tables."""
    (ROOT / OPERATIONS).write_text(of_operations(), encoding="utf-8")
    (ROOT / COSTS).write_text(in_virtual_time(of_costs()), encoding="utf-8")
