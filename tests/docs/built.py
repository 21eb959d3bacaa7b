"""Check the built documentation: its links, the list `llms.txt`, and the inventory by which others link to it.

Run it as `python -m tests.docs.built docs/_build/html`.

Sphinx warns of references in text that lead nowhere. Links in raw HTML, in templates and to the parts of a page show
only in what is built. Links to other sites are those of `make links`.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import cmsapi

# The overview is in `llms.txt` itself; the others have no text of their own.
_WITHOUT_TEXT = {"index", "genindex", "search", "py-modindex", "404"}
# Where a browser finds what a tag names.
_SOURCES = {"a": "href", "link": "href", "img": "src", "script": "src"}


class Page(HTMLParser):
    """Hold where a page leads, and which parts it has.

    Args:
        text: The page.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.leads_to: set[str] = set()
        self.parts: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link, and the name of a part."""
        found = dict(attrs)
        self.parts.update(value for name in ("id", "name") if (value := found.get(name)))
        if target := found.get(_SOURCES.get(tag, "")):
            self.leads_to.add(target)


def broken(root: Path) -> list[str]:
    """Return the links that lead nowhere, each with its page."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in root.rglob("*.html")}
    found = []
    for path, page in sorted(pages.items()):
        for link in sorted(page.leads_to):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            # The page for what is missing is shown at any depth, so its links begin at the root.
            beside = root if parts.path.startswith("/") else path.parent
            target = (beside / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            there = pages[target].parts if target in pages else {""}
            if not target.exists() or (target in pages and unquote(parts.fragment) not in there):
                found.append(f"{path.relative_to(root.resolve())}: {link}")
    return found


def unlisted(root: Path) -> list[str]:
    """Return the pages that `llms.txt` does not have, or has twice, and those whose text is missing."""
    listed = re.findall(r"^- \[.+\]\((.+)\): .+\.$", (root / "llms.txt").read_text(encoding="utf-8"), re.MULTILINE)
    pages = {path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.html")} - _WITHOUT_TEXT
    wanted = {f"{page}.txt" for page in pages if not page.startswith("_")}
    written = {name for name in wanted if (root / name).is_file() and (root / name).read_text(encoding="utf-8").strip()}
    return sorted(wanted.symmetric_difference(listed) | wanted - written | {x for x in listed if listed.count(x) > 1})


def unlinkable(root: Path) -> list[str]:
    """Return the public names that other projects cannot link to, with the names of the modules that define them.

    A signature in the documentation of another project names a class by its module, as in `cmsapi.client.Client`.
    """
    # Only an environment that builds documentation has it.
    inventories = import_module("sphinx.util.inventory").InventoryFile
    names = [f"cmsapi.{name}" for name in cmsapi.__all__ if name != "__version__"]
    for name in cmsapi.__all__:
        thing = getattr(cmsapi, name)
        if isinstance(thing, type) and thing.__module__.startswith("cmsapi."):
            names.append(f"{thing.__module__}.{thing.__qualname__}")
    inventory = inventories.loads((root / "objects.inv").read_bytes(), uri="")
    known = {name for kind, items in inventory.data.items() if kind.startswith("py:") for name in items}
    return sorted(set(names) - known)


def main() -> None:
    """Name what leads nowhere or is missing, and fail."""
    root = Path(sys.argv[1])
    if links := broken(root):
        sys.exit("These links lead nowhere:\n" + "\n".join(links))
    if pages := unlisted(root):
        sys.exit("These pages are not once in llms.txt, or have no text:\n" + "\n".join(pages))
    if names := unlinkable(root):
        sys.exit("Other projects cannot link to these names:\n" + "\n".join(names))
    # What the reference says of a class comes from its docstring.
    if "class cmsapi.Client(" not in (root / "llms-full.txt").read_text(encoding="utf-8"):
        sys.exit("llms-full.txt has no reference.")


if __name__ == "__main__":
    main()
