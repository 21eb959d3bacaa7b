"""Write the record of the public interface, and compare it with an earlier version: `make interface`.

Usage: python -m tests.support.interface [BASE] [--version VERSION]
"""

from __future__ import annotations

import argparse
import sys

from tests.support.interface import comparison
from tests.support.interface.overdue import overdue
from tests.support.interface.public import ROOT
from tests.support.interface.record import PLACE, written
from tests.support.interface.surface import Surface


def main(arguments: list[str]) -> int:
    """Write and compare; return 1 if the version that is to be released does not admit the changes."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.interface", description=__doc__)
    parser.add_argument("base", nargs="?", default="", help="a tag or commit; without one, the last tag")
    parser.add_argument(
        "--version", default="", help="the version that is to be released, which is then refused or not"
    )
    given = parser.parse_args(arguments)
    (ROOT / PLACE).write_text(written(Surface.of()), encoding="utf-8")
    print(f"Wrote {PLACE}.")
    late = overdue(given.version) if given.version else []
    for line in late:
        print(f"Overdue: {line}")
    base = given.base or comparison.last_tag()
    if base is None:
        print("There is no tag yet: the interface is compared with nothing. BASE=commit compares it with a commit.")
        return 1 if late else 0
    try:
        earlier, found = comparison.version_at(base), comparison.compare_with(base)
    except comparison.NoSuchVersion as error:
        print(error)
        return 2
    for title, lines in (("Breaking", found.breaking), ("Changed, judge it", found.changed), ("New", found.added)):
        print(f"{title}: {len(lines)}")
        print("".join(f"  {line}\n" for line in lines), end="")
    needed = found.needed(earlier)
    print(f"After {earlier} ({base}) the next version is at least {needed}.")
    if given.version and _parts(given.version) < _parts(needed):
        print(f"{given.version} does not admit these changes.")
        return 1
    return 1 if late else 0


def _parts(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
