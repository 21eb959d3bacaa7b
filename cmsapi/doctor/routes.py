"""Compare the table of operations with the service's OpenAPI document (specification 9, rule 2).

Half of the routes in the table are assumed. If the service describes another route for an operation, the comparison
proposes it, by the similarity of names and paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

import attrs

from cmsapi.api.operations import Operation, OperationTable, Provenance
from cmsapi.errors import ConfigError

_METHODS = ("get", "post", "put", "patch", "delete")
_PARAMETER = re.compile(r"\{([^{}/]*)\}")
_WORD = re.compile(r"[A-Z]?[a-z]+")
# The least similarity of a candidate, of an adopted route, and the least lead of an adopted route over the next one.
_CANDIDATE, _ADOPTED, _LEAD = 0.4, 0.6, 0.1
_MOST_CANDIDATES = 3


@attrs.frozen
class Candidate:
    """Describe a route that may belong to an operation.

    Args:
        route: Method and path, as `OPERATIONS.override` takes them.
        similarity: Similarity of names, method and path, from 0 to 1.
    """

    route: str
    similarity: float


@attrs.frozen
class RouteCheck:
    """Compare an operation of the table with the service's description.

    Args:
        name: Name in the table.
        route: Method and path of the table.
        provenance: The source of the route.
        listed: Whether the service describes the route.
        candidates: Routes of the service that no operation of the table has, and that may replace this one; best first.
    """

    name: str
    route: str
    provenance: Provenance
    listed: bool
    candidates: tuple[Candidate, ...] = ()

    @property
    def adopted(self) -> str | None:
        """The route that replaces this one, if it is similar enough and has no close rival."""
        if not self.candidates or self.candidates[0].similarity < _ADOPTED:
            return None
        first, *others = self.candidates
        return first.route if not others or first.similarity - others[0].similarity >= _LEAD else None


def compare(table: OperationTable, document: Any) -> tuple[RouteCheck, ...]:
    """Compare a table with an OpenAPI document.

    Raises:
        ConfigError: The document has no routes.
    """
    described = dict(_described(document))
    if not described:
        raise ConfigError("The service's description has no paths under /v1.")
    shapes = {_shape(*described_route) for described_route in described}
    known = {_shape(row.method, row.path) for row in table.values()}
    free = {route: words for route, words in described.items() if _shape(*route) not in known}
    return tuple(_check(row, shapes, free, table) for row in table.values())


def _check(
    row: Operation,
    shapes: set[tuple[str, str]],
    free: Mapping[tuple[str, str], set[str]],
    table: OperationTable,
) -> RouteCheck:
    if _shape(row.method, row.path) in shapes:
        return RouteCheck(row.name, row.route, row.provenance, listed=True)
    candidates = []
    for (method, path), words in free.items():
        similarity = _similarity(row, method, path, words)
        route = _renamed(row, method, path)
        if similarity >= _CANDIDATE and route is not None:
            try:
                table.override(**{row.name: route})
            except ConfigError:
                continue
            candidates.append(Candidate(route, similarity))
    candidates.sort(key=lambda candidate: -candidate.similarity)
    return RouteCheck(
        row.name, row.route, row.provenance, listed=False, candidates=tuple(candidates[:_MOST_CANDIDATES])
    )


def _described(document: Any) -> Iterator[tuple[tuple[str, str], set[str]]]:
    """Yield each route of a document with its words; skip invalid parts of the document."""
    paths = document.get("paths") if isinstance(document, dict) else None
    if not isinstance(paths, dict):
        return
    # Some documents have the version in the address of the server.
    prefix = "" if any(str(path).startswith("/v1/") for path in paths) else "/v1"
    for path, item in paths.items():
        for method in _METHODS:
            if isinstance(item, dict) and isinstance(item.get(method), dict):
                whole = prefix + path
                if whole.startswith("/v1/"):
                    yield (method.upper(), whole), _words(f"{whole} {item[method].get('operationId') or ''}")


def _shape(method: str, path: str) -> tuple[str, str]:
    return method, _PARAMETER.sub("{}", path.rstrip("/"))


def _words(text: str) -> set[str]:
    """Return the words of a path or name, without plurals."""
    words = {word.lower() for word in _WORD.findall(_PARAMETER.sub("", text))}
    return {word.removesuffix("s") for word in words} - {"v", "get", "list"}


def _similarity(row: Operation, method: str, path: str, words: set[str]) -> float:
    own = _words(f"{row.path} {row.name}")
    shared = len(own & words) / max(1, len(own | words))
    spelled = SequenceMatcher(None, _shape("", row.path)[1], _shape("", path)[1]).ratio()
    reads = method == "GET"
    # A route that reads never replaces one that changes, and DELETE replaces only DELETE.
    if reads != (row.method == "GET") or (method == "DELETE") != (row.method == "DELETE"):
        return 0.0
    return round(0.45 * shared + 0.45 * spelled + 0.1 * (method == row.method), 3)


def _renamed(row: Operation, method: str, path: str) -> str | None:
    """Return a route with the parameter names of the table, or None if it has another number of parameters."""
    names, found = _PARAMETER.findall(row.path), _PARAMETER.findall(path)
    if len(names) != len(found):
        return None
    rest = iter(names)
    return f"{method} {_PARAMETER.sub(lambda _: f'{{{next(rest)}}}', path)}"
