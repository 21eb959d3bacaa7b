"""Warn of an identifier of the wrong kind, where earlier answers show which kind it is.

Many services begin the identifiers of one kind with one prefix: `kwd_…`, `cnt_…`. No prefix is written here. They are
learned from the first answer to each operation that has items: from the identifiers in it, and from those in the path
of its request, which the service has taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from cmsapi.api.operations import OperationTable
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.api.wire.shape import python_name
from cmsapi.user_line import user_line, warn

# Items of a list that are enough to tell whether its identifiers have a common prefix.
_SAMPLE = 20
_PREFIX = re.compile(r"[A-Za-z]{2,16}(?=_)")


class IdentifierWarning(UserWarning):
    """Warn of an identifier that looks like that of another kind of thing; the request is sent all the same."""


class IdentifierPrefixes:
    """Remember with which prefix the identifiers of each path parameter begin."""

    def __init__(self) -> None:
        #: The operations whose answers were learned from.
        self.learned: set[str] = set()
        #: The path parameter of each prefix, or None when several share it.
        self.parameters: dict[str, str | None] = {}
        self._warned: set[tuple[str, str]] = set()

    def learn(
        self, table: OperationTable, operation: str, path: Mapping[str, str], documents: Sequence[object]
    ) -> None:
        """Learn from the first answer to an operation that has documents."""
        if not documents:
            return
        self.learned.add(operation)
        for parameter, identifier in path.items():
            self._note(parameter, identifier)
        if (answered := _answered(table, operation)) is not None:
            for document in documents[:_SAMPLE]:
                self._note(answered, getattr(document, "id", None))

    def _note(self, parameter: str, identifier: object) -> None:
        if isinstance(identifier, str) and (found := _PREFIX.match(identifier)) is not None:
            known = self.parameters.setdefault(found[0], parameter)
            if known != parameter:
                self.parameters[found[0]] = None

    def warn(self, parameter: str, identifier: str, other: str) -> None:
        """Warn once that an identifier begins like those of another parameter.

        It does not when all identifiers seen so far begin alike, because they may always do so, and when the names
        differ by a word in front, as in `parentFolderId`.
        """
        prefix = identifier.partition("_")[0]
        if "_" not in identifier or len(self.parameters) == 1 or (parameter, prefix) in self._warned:
            return
        if parameter.lower().endswith(other.lower()):
            return
        warn(
            f"`{python_name(parameter)}` is {excerpt(identifier)}, but in earlier answers each identifier that begins "
            f"with '{prefix}_' was a `{python_name(other)}`. The request is sent all the same.",
            IdentifierWarning,
            user_line(),
        )
        # Not before: where the warning is an error, each such request is refused.
        self._warned.add((parameter, prefix))


def _answered(table: OperationTable, operation: str) -> str | None:
    """Return the path parameter that takes the identifiers in the answers to an operation, or None.

    `/v1/keywords/{keywordId}` answers with a keyword, and so does `/v1/pages/{pageId}/keywords`, because the keywords
    are below `/keywords/{keywordId}`.
    """
    last = table[operation].path.rpartition("/")[2]
    if last.startswith("{"):
        return last[1:-1]
    below = re.compile(rf"/{re.escape(last)}/{{(\w+)}}")
    return next((found[1] for each in table.values() if (found := below.search(each.path))), None)
