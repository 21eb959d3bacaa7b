"""Write the record of the public interface, and compare it with an earlier version: `make interface`.

Usage: python -m tools.interface [BASE] [--version VERSION]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from tools.interface import comparison, tables
from tools.interface.public import ROOT
from tools.interface.record import PLACE, is_fresh, written
from tools.interface.surface import Surface


def main(arguments: list[str]) -> int:
    """Write and compare; return 1 if the version that is to be released is not allowed, 2 for wrong arguments."""
    parser = argparse.ArgumentParser(prog="python -m tools.interface", description=__doc__)
    parser.add_argument("base", nargs="?", default="", help="a tag or commit; without one, the last tag")
    parser.add_argument("--version", default="", help="the version that is to be released; nothing is written then")
    given = parser.parse_args(arguments)
    base = given.base or comparison.last_tag()
    try:
        refused = list(refusals()) if given.version and comparison.numbers(given.version) else []
        if not given.version:
            (ROOT / PLACE).write_text(written(Surface.of()), encoding="utf-8")
            tables.write()
            print(f"Wrote {PLACE}, {tables.OPERATIONS} and {tables.COSTS}.")
        if base is None:
            print("There is no tag yet: the interface is compared with nothing. BASE=commit compares it with a commit.")
        else:
            needed = show_changes(base)
            if given.version and comparison.numbers(given.version) < comparison.numbers(needed):
                refused.append(f"{given.version} does not admit these changes.")
    except comparison.NoSuchVersion as error:
        print(error)
        return 2
    print("".join(f"{line}\n" for line in refused), end="")
    return 1 if refused else 0


def refusals() -> Iterator[str]:
    """Give the reasons to refuse any version."""
    if not is_fresh():
        yield f"{PLACE} is not that of the code: run `make interface`, and look at what changed."


def show_changes(base: str) -> str:
    """Print what has changed since a tag or commit; return the least version that may follow."""
    earlier, found = comparison.version_at(base), comparison.compare_with(base)
    for title, lines in (("Breaking", found.breaking), ("Changed, judge it", found.changed), ("New", found.added)):
        print(f"{title}: {len(lines)}")
        print("".join(f"  {line}\n" for line in lines), end="")
    needed = found.needed(earlier)
    print(f"After {earlier} ({base}) the next version is at least {needed}.")
    return needed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
