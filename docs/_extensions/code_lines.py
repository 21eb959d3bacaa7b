"""Break long lines of code where the page ends, and indent what follows, so that no screen cuts a line off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pygments.formatters import HtmlFormatter
from sphinx.highlighting import PygmentsBridge


class LineFormatter(HtmlFormatter):
    """Put each line into an element that knows its indentation; `pages.css` does the rest."""

    def wrap(self, source: Any) -> Any:
        """Add the elements of lines, and those around all of them."""
        return super().wrap(self._lines(source))

    def _lines(self, source: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        for is_line, text in source:
            if not is_line:
                yield is_line, text
                continue
            plain = re.sub("<[^>]*>", "", text)
            indentation = len(plain) - len(plain.lstrip(" "))
            # The line break stays outside, so that it is copied once.
            yield 1, f'<span class="line" style="--indent:{indentation}">{text.rstrip(chr(10))}</span>\n'


def setup(app: Any) -> dict[str, bool]:
    """Use the formatter for all blocks."""
    PygmentsBridge.html_formatter = LineFormatter
    return {"parallel_read_safe": True, "parallel_write_safe": True}
