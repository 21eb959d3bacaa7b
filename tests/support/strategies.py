"""Wire documents of every resource, drawn from the specification's tables written out a second time.

Nothing here looks at the models: a field forgotten or misnamed there shows as a difference.

A kind is `str`, `int`, `number`, `bool`, `time` or `any`; a tuple is a vocabulary, a dictionary a nested object and a
list of one kind a list. `?` after a kind: null is shown. `~` before it: the key is not shown by the specification.
`!` after it: the document is asked for by it, and useless without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

import cmsapi

Kind = Any  # str | tuple[str, ...] | dict[str, Kind] | list[Kind]
Table = dict[str, Kind]


class Nullable(dict[str, Any]):
    """Mark a nested object, or a vocabulary under "words", for which null is shown."""


ANALYSIS = ("queued", "pending", "success", "failed")
PROGRESS = ("pending", "success", "failed")
GENERATION = ("queued", "review", "applied", "discarded", "failed")

# Specification, section 2.1.
CREDITS: Table = {"analysis": "int", "aiWriting": "int", "contentIdeasSearches": "int"}
ORGANIZATION: Table = {
    "id": "str",
    "name": "str",
    "createdAt": "time",
    "brandName": "str?",
    "brandImageUrl": "str?",
    "credits": CREDITS,
    "usersCount": "int",
    "workspacesCount": "int",
}
USER: Table = {
    "id": "str",
    "firstName": "str",
    "lastName": "str",
    "email": "str",
    "profileImageUrl": "str?",
    "jobTitle": "str",
    "languageCode": "str",
    "organization": ORGANIZATION,
    "createdAt": "time",
}
USER_REF: Table = {"id": "str", "firstName": "str", "lastName": "str"}
NAMED: Table = {"id": "str", "name": "str"}

# Section 2.2.
WORKSPACE: Table = {
    "id": "str!",
    "name": "str",
    "websiteUrl": "str",
    "countryCode": "str",
    "countryName": "str",
    "languageCode": "str",
    "createdAt": "time",
    "organization": NAMED,
}

# Section 2.3; a name may be null, and a parent is null at the top (published).
FOLDER: Table = {"id": "str!", "name": "str?", "depth": "int", "nbAssociatedContents": "int", "parentFolderId": "str?"}

# Section 2.4: which fields may be null is not shown.
ASSIGNEE: Table = {"id": "str", "firstName": "str", "lastName": "str", "email": "str", "profileImageUrl": "str?"}
CONTENT_STATUS: Table = {"id": "str", "label": "str", "color": "str", "position": "int", "isReadOnly": "bool"}
LAST_GENERATION: Table = {"id": "str", "status": GENERATION, "type": "str"}
FOLDER_REF: Table = {"id": "str", "name": "str?"}
PAGE_REF: Table = {"id": "str", "url": "str?", "lastStatusCode": "int?"}
CONTENT: Table = {
    "id": "str!",
    "title": "str?",
    "type": Nullable(words=("DRAFT", "PUBLISHED", "ORIGINAL")),
    "contentScore": "int?",
    "wordsCount": "int?",
    "createdAt": "time?",
    "updatedAt": "time?",
    "contentUpdatedAt": "time?",
    "publishedAt": "time?",
    "dueDate": "time?",
    "assignedTo": Nullable(ASSIGNEE),
    "contentStatus": Nullable(CONTENT_STATUS),
    "folder": Nullable(FOLDER_REF),
    "page": Nullable(PAGE_REF),
    "contentUpdatedBy": Nullable(USER_REF),
    "publishedBy": Nullable(USER_REF),
    "html": "str?",
    "htmlSanitized": "str?",
    "isStarted": "bool?",
    "metaDescription": "str?",
    "lastGeneration": Nullable(LAST_GENERATION),
    "version": "int?",
}
ONLY_IN_FULL = {
    "contentUpdatedBy",
    "publishedBy",
    "html",
    "htmlSanitized",
    "isStarted",
    "metaDescription",
    "lastGeneration",
    "version",
}

TABLES: dict[type[cmsapi.Model], Table] = {
    cmsapi.Acknowledgement: {"message": "str"},  # section 4.5
    cmsapi.Assignee: ASSIGNEE,
    cmsapi.BrandVoice: {
        "id": "~str",
        "name": "~str",
        "brandName": "~str?",
        "targetAudience": "~str?",
        "additionalInformation": "~str?",
        "enabled": "~bool",
        "status": "~str?",
        "createdAt": "~time",
    },
    cmsapi.Content: CONTENT,
    cmsapi.ContentIdea: {"id": "~str", "keyword": "~str?", "searchVolume": "~int?", "createdAt": "~time?"},
    cmsapi.ContentIdeaSearch: {  # section 2.6
        "id": "str",
        "createdAt": "time",
        "keyword": "str?",
        "nbContentIdeas": "int?",
        "searchVolume": "int?",
        "status": Nullable(words=PROGRESS),
    },
    cmsapi.ContentStatus: CONTENT_STATUS,
    cmsapi.CreditUsage: {  # section 2.7
        "id": "str",
        "createdAt": "time",
        "amount": "int",
        "remainingCredits": "int",
        "type": ("analysis", "ai_writing", "content_idea_search"),
        "keyword": {"keyword": "str", "countryCode": "str", "languageCode": "str"},
        "user": USER_REF,
        "workspace": NAMED,
    },
    cmsapi.Credits: CREDITS,
    cmsapi.Folder: FOLDER,
    cmsapi.FolderRef: FOLDER_REF,
    cmsapi.Generation: {"id": "str", "status": GENERATION, "type": "~str?"},  # section 2.5
    cmsapi.GenerationSettings: {  # section 4.4: all are optional
        "brandVoiceId": "str?",
        "customInstructions": "str?",
        "factCheckingEnabled": "bool?",
        "knowledgeBaseEnabled": "bool?",
        "knowledgeFilesEnabled": "bool?",
        "knowledgeWebSearchEnabled": "bool?",
        "knowledgeWebsiteEnabled": "bool?",
    },
    cmsapi.Keyword: {  # section 2.8
        "id": "~str",
        "keyword": "~str?",
        "analysisStatus": Nullable(words=ANALYSIS),
        "lastAnalyzedAt": "~time?",
        "searchVolume": "~int?",
        "countryCode": "~str?",
        "languageCode": "~str?",
        "pageId": "~str?",
    },
    cmsapi.KnowledgeDocument: {  # section 2.5b
        "id": "str",
        "name": "str",
        "createdAt": "time",
        "status": Nullable(words=PROGRESS),
        "summary": "str?",
        "type": Nullable(words=("text", "url", "file")),
        "url": "str?",
        "workspace": {"id": "str", "name": "str", "websiteUrl": "str"},
    },
    cmsapi.LastGeneration: LAST_GENERATION,
    cmsapi.Member: {
        "id": "~str",
        "firstName": "~str",
        "lastName": "~str",
        "email": "~str",
        "jobTitle": "~str?",
        "profileImageUrl": "~str?",
        "role": ("Admin", "Member"),
        "createdAt": "~time",
    },
    cmsapi.Organization: ORGANIZATION,
    cmsapi.OrganizationRef: NAMED,
    cmsapi.PageRef: PAGE_REF,
    cmsapi.Pagination: {"total": "int", "page": "int", "limit": "int", "hasMore": "bool"},  # section 1, convention 3
    cmsapi.Prompt: {
        "id": "~str",
        "prompt": "~str",
        "analysisStatus": Nullable(words=ANALYSIS, unshown=True),
        "lastAnalyzedAt": "~time?",
    },
    cmsapi.User: USER,
    cmsapi.UserRef: USER_REF,
    cmsapi.WebPage: {  # section 2.8
        "id": "str!",
        "url": "str?",
        "lastStatusCode": "int?",
        "title": "~str?",
        "createdAt": "~time?",
    },
    cmsapi.Workspace: WORKSPACE,
    cmsapi.WorkspaceRef: NAMED,
}
SOURCE: Table = {
    "category": "~str?",
    "domain": "~str?",
    "organicPosition": "~int?",
    "position": "~int?",
    "title": "~str?",
    "type": "~str?",
    "url": "~str?",
}
BRAND: Table = {"category": "~str?", "count": "~int?", "name": "~str?"}
REPORT: Table = {
    "score": "~number",
    "recommendations": "~any?",
    "sources": [SOURCE],
    "brands": [BRAND],
    "preview": "~any?",
}
TABLES[cmsapi.Report] = REPORT
TABLES[cmsapi.ReportSource] = SOURCE
TABLES[cmsapi.ReportBrand] = BRAND
TABLES[cmsapi.ScoreReport] = {"chatgpt": Nullable(REPORT, unshown=True)}
TABLES[cmsapi.ContentSummary] = {name: kind for name, kind in CONTENT.items() if name not in ONLY_IN_FULL}
TABLES[cmsapi.UsageKeyword] = TABLES[cmsapi.CreditUsage]["keyword"]
TABLES[cmsapi.KnowledgeWorkspace] = TABLES[cmsapi.KnowledgeDocument]["workspace"]

texts = st.text(max_size=12)
integers = st.integers(-(2**70), 2**70)
numbers = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | integers | numbers | texts,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(texts, inside, max_size=4),
    max_leaves=8,
)


OFFSETS = [UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-8))]
PRECISIONS = ["auto", "minutes", "seconds", "milliseconds", "microseconds"]
days = st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2200, 1, 1))  # noqa: DTZ001
zulu_times = st.builds(
    lambda time, precision: time.isoformat(timespec=precision) + "Z", days, st.sampled_from(PRECISIONS)
)
aware_times = (
    zulu_times
    | st.builds(lambda time, offset: time.replace(tzinfo=offset).isoformat(), days, st.sampled_from(OFFSETS))
    | days.map(lambda time: time.isoformat(timespec="milliseconds").replace(".", ",") + "+00:00")
    | days.map(lambda time: time.strftime("%Y%m%dT%H%M%SZ"))
)
naive_times = days.map(datetime.isoformat) | days.map(lambda time: time.date().isoformat())


def bare(kind: Kind) -> Kind:
    """Return a kind without its marks."""
    if isinstance(kind, Nullable):
        return kind.get("words") or {name: each for name, each in kind.items() if name != "unshown"}
    return kind.strip("~?!") if isinstance(kind, str) else kind


def shows_null(kind: Kind) -> bool:
    """Whether a null is shown for this kind."""
    return isinstance(kind, Nullable) or (isinstance(kind, str) and kind.endswith("?"))


def is_required(kind: Kind) -> bool:
    """Whether a document is useless without a value of this kind."""
    return isinstance(kind, str) and kind.endswith("!")


def values(kind: Kind, *, odd: bool) -> st.SearchStrategy[Any]:
    """Draw a value of a kind; an odd one may hold unknown words, nulls, absences and unknown keys."""
    kind = bare(kind)
    if isinstance(kind, dict):
        return documents(kind, odd=odd)
    if isinstance(kind, list):
        return st.lists(values(kind[0], odd=odd), max_size=3)
    if isinstance(kind, tuple):
        return st.sampled_from(kind) | texts if odd else st.sampled_from(kind)
    return {
        "str": texts,
        "int": integers,
        "number": integers | numbers,
        "bool": st.booleans(),
        "time": aware_times | naive_times if odd else aware_times,
        "any": json_values,
    }[kind]


def documents(table: Table, *, odd: bool = True) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a document of a table, an odd one with its unknown keys before or after the others."""
    known = {name: values(kind, odd=odd) for name, kind in table.items()}
    if not odd:
        return st.fixed_dictionaries(known)
    identifier = {name: value for name, value in known.items() if is_required(table[name])}
    others = {name: st.none() | value for name, value in known.items() if name not in identifier}
    listed = st.fixed_dictionaries(identifier | others) | st.fixed_dictionaries(identifier, optional=others)
    nothing: st.SearchStrategy[dict[str, Any]] = st.just({})
    unknown = nothing | st.dictionaries(texts.filter(lambda name: name not in table), json_values, max_size=3)
    return st.builds(lambda one, two, order: one | two if order else two | one, listed, unknown, st.booleans())


def places(kind: Kind, document: Any, path: str = "$") -> Iterator[tuple[str, Kind, Any, Any]]:
    """Yield (path, kind, container, key) of every value of a document that its table speaks of."""
    kind = bare(kind)
    if isinstance(kind, dict) and isinstance(document, dict):
        for name, inner in kind.items():
            if name in document:
                yield f"{path}.{name}", inner, document, name
                yield from places(inner, document[name], f"{path}.{name}")
    elif isinstance(kind, list) and isinstance(document, list):
        for place, item in enumerate(document):
            yield f"{path}[{place}]", kind[0], document, place
            yield from places(kind[0], item, f"{path}[{place}]")


def misfits(kind: Kind) -> st.SearchStrategy[Any]:
    """Draw a JSON value, not null, of a wrong type for a kind."""
    kind = bare(kind)
    right: dict[Any, tuple[type, ...]] = {"str": (str,), "int": (int,), "number": (int, float), "bool": (bool,)}
    if kind == "time":
        return (
            st.sampled_from(["", "yesterday", "2024-13-01T00:00:00Z", "2024-01-01 00:00:00Z", "1700000000"]) | integers
        )
    types = (dict,) if isinstance(kind, dict) else (list,) if isinstance(kind, list) else right.get(kind, (str,))
    return json_values.filter(lambda value: value is not None and type(value) not in types)
