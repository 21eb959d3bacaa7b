"""The kinds of jobs that this package knows, by their words."""

from __future__ import annotations

from cmsapi.api.model import Model
from cmsapi.jobs.kinds.generation import ArticleGeneration
from cmsapi.jobs.kinds.idea_search import IdeaSearch
from cmsapi.jobs.kinds.keyword_analysis import KeywordAnalysis
from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.kinds.knowledge_document import KnowledgeProcessing
from cmsapi.jobs.kinds.prompt_analysis import PromptAnalysis

_KINDS: dict[str, Kind] = {}
_SHOWN_BY: dict[type[Model], tuple[Kind, ...]] = {}


def register(kind: Kind) -> None:
    """Make a kind known; one of the same word is replaced. Call it before a client is made."""
    unregister(kind.name)
    _KINDS[kind.name] = kind
    model = kind.shown_by or kind.model
    _SHOWN_BY[model] = (*_SHOWN_BY.get(model, ()), kind)


def unregister(word: str) -> None:
    """Forget a kind."""
    kind = _KINDS.pop(word, None)
    for model, shown in _SHOWN_BY.items():
        _SHOWN_BY[model] = tuple(each for each in shown if each is not kind)


def registered_kinds() -> tuple[Kind, ...]:
    """Return all kinds."""
    return tuple(_KINDS.values())


def find_kind(word: str) -> Kind | None:
    """Return the kind of a word that was written down, or None when only another version of this package knows it."""
    return _KINDS.get(word)


def kind_of(word: str) -> Kind:
    """Return the kind of a word.

    Raises:
        LookupError: There is no such kind.
    """
    if (kind := _KINDS.get(word)) is None:
        raise LookupError(f"There is no kind of jobs {word!r}; the kinds are: {', '.join(_KINDS)}.")
    return kind


def kinds_shown_by(model: type[Model]) -> tuple[Kind, ...]:
    """Return the kinds of which documents of a class show something."""
    return _SHOWN_BY.get(model, ())


def kind_launched_by(operation: str | None) -> Kind | None:
    """Return the kind that an operation launches, or None."""
    return next((kind for kind in _KINDS.values() if operation and kind.launch_operation == operation), None)


for _kind in (KeywordAnalysis(), PromptAnalysis(), IdeaSearch(), ArticleGeneration(), KnowledgeProcessing()):
    register(_kind)
