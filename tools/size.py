"""Count the lines of code of each package, and compare them with the record: `make size`.

A package may grow by a fiftieth without a word. More takes a changed record in the same commit, so that the change
shows what it adds: `make size RECORD=1` writes it. Comments, docstrings and empty lines do not count.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "tools/size.txt"
_MOST_GROWTH = 0.02
# These are packages of packages, each of which is a room of its own.
_DIVIDED = ("cli", "jobs", "sandbox")
_WITHOUT_CODE = (
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
)


def main(arguments: list[str]) -> int:
    """Show the sizes, or write them; return 1 when a package has grown more than it may."""
    parser = argparse.ArgumentParser(prog="python -m tools.size", description=__doc__)
    parser.add_argument("--check", action="store_true", help="print only what has grown too much")
    parser.add_argument("--record", action="store_true", help="write the record")
    given = parser.parse_args(arguments)
    sizes = measured(ROOT / "cmsapi")
    if given.record:
        RECORD.write_text("".join(f"{package} {lines}\n" for package, lines in sorted(sizes.items())))
    recorded = read(RECORD.read_text())
    if not given.check:
        for package in sorted({*sizes, *recorded}):
            print(f"{package:24}{sizes.get(package, 0):8,}{recorded.get(package, 0):8,}")
        print(f"{'all':24}{sum(sizes.values()):8,}{sum(recorded.values()):8,}")
    found = list(grown(sizes, recorded))
    print("".join(f"{line}\n" for line in found), end="")
    return 1 if found else 0


def measured(package: Path) -> dict[str, int]:
    """Return the lines of code of each room of a package."""
    sizes = Counter[str]()
    for path in package.rglob("*.py"):
        folders = path.relative_to(package).parts[:-1]
        room = "/".join(folders[: 2 if folders and folders[0] in _DIVIDED else 1])
        sizes[room or package.name] += lines_of_code(path.read_text(encoding="utf-8"))
    return dict(sizes)


def lines_of_code(text: str) -> int:
    """Count the lines of a module that have code."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {
        line for each in tokens if each.type not in _WITHOUT_CODE for line in range(each.start[0], each.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def read(record: str) -> dict[str, int]:
    """Read a record."""
    return {package: int(lines) for package, lines in (line.split() for line in record.splitlines())}


def grown(sizes: Mapping[str, int], recorded: Mapping[str, int]) -> Iterator[str]:
    """Say of each package that is larger than its record admits what to do."""
    for package, lines in sorted(sizes.items()):
        before = recorded.get(package, 0)
        if lines > before * (1 + _MOST_GROWTH):
            yield (
                f"{package} has {lines:,} lines of code, and {before:,} are recorded: make it smaller, or run "
                "`make size RECORD=1` and say in the commit what the lines are for."
            )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
