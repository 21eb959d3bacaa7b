"""Write `llms.txt`, each page as plain text, and `llms-full.txt` with most of them, for programs that read the docs.

The list has the form of https://llmstxt.org: a title, a summary, and the pages by the headings of the navigation, each
with its first sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.writers.text import TextTranslator

# The heading of the pages that a reader with little room leaves out.
OPTIONAL = "Optional"


class PlainText(TextTranslator):
    """Write a page as text, and leave out what only a browser shows."""

    def visit_literal(self, node: nodes.Element) -> None:
        """Begin code in a line, which may have quotes of its own."""
        self.add_text("`")

    def depart_literal(self, node: nodes.Element) -> None:
        """End it."""
        self.add_text("`")

    def unknown_visit(self, node: nodes.Node) -> None:
        """Leave out a node of an extension that has no text."""
        raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Write the files after each build of HTML."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write(app: Any, error: Exception | None) -> None:
    """Write all files next to the pages."""
    if error is not None or app.builder.name != "html":
        return
    place, root = Path(app.outdir), app.config.root_doc
    # A host shows the list above all versions, too, so there its links say which version they mean.
    base = app.config.html_baseurl
    lines = [f"# {app.config.project}", "", f"> {summary(app.env.get_doctree(root))}"]
    texts = [text(app, root)]
    for caption, pages in sections(app.env, root):
        lines += ["", f"## {caption}", ""]
        for page in pages:
            content = text(app, page)
            (place / f"{page}.txt").write_text(content, encoding="utf-8")
            title = app.env.titles[page].astext()
            lines.append(f"- [{title}]({base}{page}.txt): {summary(app.env.get_doctree(page))}")
            if caption != OPTIONAL:
                texts.append(content)
    (place / "llms.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
    (place / "llms-full.txt").write_text("\n\n".join(texts), encoding="utf-8")


def sections(environment: Any, root: str) -> Iterator[tuple[str, list[str]]]:
    """Give the captions of the navigation with all pages below them; the last one is optional."""
    trees = list(environment.get_doctree(root).findall(addnodes.toctree))
    for tree in trees:
        caption = OPTIONAL if tree is trees[-1] else tree["caption"] or "Pages"
        yield caption, [page for file in tree["includefiles"] for page in below(environment, file)]


def below(environment: Any, page: str) -> list[str]:
    """Return a page and the pages of its own navigation."""
    return [page, *(each for file in environment.toctree_includes.get(page, ()) for each in below(environment, file))]


def summary(page: nodes.document) -> str:
    """Return the first sentence of a page."""
    paragraphs = (each.astext() for each in page.findall(nodes.paragraph))
    first = " ".join(next(paragraphs, "").split())
    # A colon at the end leads to a block of code, which the list does not have.
    return re.sub(r":$", ".", re.split(r"(?<=[.!?])\s", first, maxsplit=1)[0])


def text(app: Any, page: str) -> str:
    """Return a page as plain text."""
    document = app.env.get_and_resolve_doctree(page, app.builder)
    translator = PlainText(document, app.builder)
    document.walkabout(translator)
    return str(translator.body)
