"""The fields of each resource: answers are built from this table, and `/openapi.json` describes it."""

from __future__ import annotations

import functools
import re
from typing import Any

from cmsapi.sandbox.messages.answers import CODES
from cmsapi.sandbox.messages.shapes import (
    BOOLEAN,
    COUNT,
    INTEGER,
    MOMENT,
    STRING,
    Schema,
    about,
    absent,
    identifier,
    like,
    listing,
    nullable,
    ref,
    shape,
    text,
    words,
)
from cmsapi.sandbox.world.billing import TYPES
from cmsapi.sandbox.world.clock import optional_timestamp

Document = dict[str, Any]

_ARTICLE = "<h1>Trail shoes</h1><p>How to choose a pair.</p>"
_URL = text("https://northwind.example/trail-shoes")
# A field has the same meaning in every resource, unless the resource says otherwise.
_FIELDS: dict[str, Schema] = {
    "additionalInformation": nullable(text("short sentences")),
    "aiWriting": like(INTEGER, 80),
    "amount": like(INTEGER, 1, "Credits that were consumed."),
    "analysis": like(INTEGER, 1200),
    "analysisStatus": nullable(
        text("success", "Word for the state of the analysis, an open set; null before the first analysis.")
    ),
    "assignedTo": nullable(ref("Assignee")),
    "brandImageUrl": nullable(_URL),
    "brandName": nullable(text("Northwind")),
    "category": text("editorial"),
    "color": text("#2f6fde"),
    "contentIdeasSearches": like(INTEGER, 45),
    "contentScore": nullable({**like(INTEGER, 64, "SEO quality score, 0 to 100."), "minimum": 0, "maximum": 100}),
    "contentStatus": nullable(ref("ContentStatus")),
    "contentUpdatedAt": nullable(about(MOMENT, "Moment of the last change of the body.")),
    "contentUpdatedBy": nullable(ref("Person")),
    "count": like(COUNT, 4),
    "countryCode": text("US", "ISO 3166-1 alpha-2."),
    "countryName": text("United States"),
    "createdAt": MOMENT,
    "credits": ref("CreditBalances"),
    "depth": like(COUNT, 0, "0 at the top level."),
    "domain": text("northwind.example"),
    "dueDate": nullable(MOMENT),
    "email": text("ada.moreau@northwind.example"),
    "enabled": BOOLEAN,
    "firstName": text("Ada"),
    "folder": nullable(ref("Reference")),
    "hasMore": like(BOOLEAN, example=False, description="Whether there is a next page."),
    "html": text(_ARTICLE, "Body as authored; it may contain an editor's annotations."),
    "htmlSanitized": text(_ARTICLE, "Body without annotations, safe to publish."),
    "isReadOnly": like(BOOLEAN, example=False),
    "isStarted": about(BOOLEAN, "Whether there is any body."),
    "jobTitle": text("Head of Content"),
    "keyword": text("trail shoes"),
    "label": text("In progress"),
    "languageCode": text("en", "ISO 639-1."),
    "lastAnalyzedAt": nullable(about(MOMENT, "End of the last analysis.")),
    "lastGeneration": nullable(ref("LastGeneration")),
    "lastName": text("Moreau"),
    "lastStatusCode": about(nullable(like(INTEGER, 200)), "HTTP status of the last crawl."),
    "limit": like(INTEGER, 25, "Largest number of items on a page."),
    "metaDescription": nullable(text("How to choose trail shoes, in five steps.")),
    "name": text("Northwind"),
    "nbAssociatedContents": like(COUNT, 3),
    "nbContentIdeas": absent(about(COUNT, "Number of ideas; null until the search succeeds.")),
    "organicPosition": nullable(like(INTEGER, 2)),
    "page": ref("PageReference"),
    "pageId": identifier("pag"),
    "parentFolderId": absent(about(STRING, "Null at the top level.")),
    "position": like(INTEGER, 1),
    "preview": nullable(text("Most answers to trail shoes name Northwind.")),
    "profileImageUrl": nullable(text("https://northwind.example/people/ada.png")),
    "prompt": text("What are the best trail shoes?"),
    "publishedAt": nullable(MOMENT),
    "publishedBy": nullable(ref("Person")),
    "recommendations": like({}, [{"term": "trail", "count": 2, "recommended": 5}], "Any JSON."),
    "remainingCredits": like(INTEGER, 1199, "Balance after it."),
    "score": {**like({"type": "number"}, 0.64), "minimum": 0, "maximum": 1},
    "searchVolume": like(COUNT, 5400, "Searches a month."),
    "summary": nullable(text("What to know about tone.", "Null until the processing succeeds.")),
    "targetAudience": nullable(text("people who run for fun")),
    "title": text("Trail shoes for beginners"),
    "total": like(COUNT, 1, "Items on all pages."),
    "updatedAt": MOMENT,
    "usersCount": like(COUNT, 5),
    "version": like(INTEGER, 3, "Version for optimistic locking."),
    "websiteUrl": text("https://northwind.example", "Root of the tracked website."),
    "wordsCount": like(COUNT, 870),
    "workspacesCount": like(COUNT, 1),
}


def _resource(description: str, names: str, prefix: str = "", /, **own: Schema) -> Schema:
    """Describe a resource.

    Args:
        description: What it is.
        names: The names of its fields, between spaces.
        prefix: Prefix of its identifier; empty without one.
        own: Fields whose meaning is its own.
    """
    if prefix:
        own["id"] = identifier(prefix)
    return shape({name: own.get(name) or _FIELDS[name] for name in names.split()}, description)


_PERSON = "id firstName lastName"
_MEMBER = f"{_PERSON} email profileImageUrl jobTitle createdAt"
_PAGE = "id url lastStatusCode"
_PAGE_URL = about(nullable(_URL), "Null until the page of a draft has an address.")
_SHORT_CONTENT = (
    "id title type contentScore wordsCount createdAt updatedAt contentUpdatedAt publishedAt dueDate assignedTo "
    "contentStatus folder page"
)
_CONTENT = (
    f"{_SHORT_CONTENT} contentUpdatedBy publishedBy html htmlSanitized isStarted metaDescription lastGeneration version"
)
_GENERATION_STATUS = nullable(
    text("queued", "`queued` after the launch, `review` when it waits for a decision; other words may come.")
)
_KEYWORD = "id keyword searchVolume countryCode languageCode pageId"
_ANALYSIS = ("analysisStatus", "lastAnalyzedAt")

RESOURCES: dict[str, Schema] = {
    "ErrorCode": words("The stable word for an error (section 7).", *CODES.values()),
    "ContentType": words("The type of a content (section 2.4).", "DRAFT", "PUBLISHED", "ORIGINAL"),
    "ContentIdeaSearchStatus": words("The status of a search (section 2.6).", "pending", "success", "failed"),
    "CreditType": words("The balance that a usage draws on (section 2.7).", *TYPES),
    "KnowledgeDocumentStatus": words("The status of the processing (section 2.5b).", "pending", "success", "failed"),
    "KnowledgeDocumentType": words("The source of a knowledge document (section 2.5b).", "text", "url", "file"),
    "Role": words("The role in the organisation (section 4.8).", "Admin", "Member"),
    "Error": _resource("An error (section 7).", "error", error=ref("ErrorDetail")),
    "ErrorDetail": _resource(
        "What went wrong.",
        "code message",
        code=ref("ErrorCode"),
        message=text("name: is required", "Text for people; for a 422 it names the failing field."),
    ),
    "Message": _resource("A text for people.", "message", message=text("Analysis started")),
    "Health": _resource("The state of the service.", "status", status=text("ok")),
    "Description": {"type": "object", "description": "An OpenAPI 3.1 document.", "examples": [{"openapi": "3.1.0"}]},
    "Pagination": _resource(
        "The place of a page in its collection (section 1, rule 3).",
        "total page limit hasMore",
        page=like(INTEGER, 1, "Number of this page, from 1."),
    ),
    "Reference": _resource("Another resource, by its identifier and name.", "id name", "fld", name=text("Guides")),
    "Person": _resource("A user, in short form.", _PERSON, "usr"),
    "Assignee": _resource("The member who works on a content.", f"{_PERSON} email profileImageUrl", "usr"),
    "CreditBalances": _resource("The remaining credits of each balance.", "analysis aiWriting contentIdeasSearches"),
    "Organization": _resource(
        "The owner of users, workspaces and credits.",
        "id name createdAt brandName brandImageUrl credits usersCount workspacesCount",
        "org",
    ),
    "User": _resource(
        "The owner of the API key.", f"{_MEMBER} languageCode organization", "usr", organization=ref("Organization")
    ),
    "Member": _resource("A member of the organisation.", f"{_MEMBER} role", "usr", role=ref("Role")),
    "WorkspaceMember": _resource(
        "A member of a workspace.", f"{_MEMBER} role", "usr", role=text("editor", "Role in the workspace, an open set.")
    ),
    "Workspace": _resource(
        "A tracked website.",
        "id name websiteUrl countryCode countryName languageCode createdAt organization",
        "wsp",
        name=text("Northwind shop"),
        organization=ref("Reference"),
    ),
    "WorkspaceReference": _resource(
        "A workspace, in short form.", "id name websiteUrl", "wsp", name=text("Northwind shop")
    ),
    "ContentStatus": _resource("A workflow status of a workspace.", "id label color position isReadOnly", "cst"),
    "Folder": _resource(
        "A folder of contents.",
        "id name depth nbAssociatedContents parentFolderId",
        "fld",
        name=nullable(text("Guides")),
    ),
    "ShortContent": _resource(
        "An article as lists show it: without its text.", _SHORT_CONTENT, "cnt", type=ref("ContentType")
    ),
    "Content": _resource("An article, attached to a page.", _CONTENT, "cnt", type=ref("ContentType")),
    "PageReference": _resource("A page, in short form.", _PAGE, "pag", url=_PAGE_URL),
    "Generation": _resource("A generation of Atomic Content.", "id status", "gen", status=_GENERATION_STATUS),
    "LastGeneration": _resource(
        "The last generation of a content.", "id status type", "gen", status=_GENERATION_STATUS, type=text("optimize")
    ),
    "Page": _resource("A URL of the tracked website.", f"{_PAGE} createdAt", "pag", url=_PAGE_URL),
    "Keyword": _resource("A search term tracked for a page.", " ".join((_KEYWORD, *_ANALYSIS)), "kwd"),
    "KeywordItem": shape(
        _resource("", _KEYWORD, "kwd")["properties"],
        "A search term as lists show it.",
        optional={name: _FIELDS[name] for name in _ANALYSIS},
    ),
    "Prompt": _resource("A question that people ask AI answer engines.", " ".join(("id prompt", *_ANALYSIS)), "prm"),
    "Report": _resource(
        "The score of a text, with what to improve.",
        "score recommendations sources brands preview",
        sources=listing(ref("Source")),
        brands=listing(ref("Brand")),
    ),
    "Source": _resource(
        "A page that answers cite.",
        "category domain organicPosition position title type url",
        title=text("Trail shoes: what Northwind says"),
        type=text("citation"),
        url=_URL,
    ),
    "Brand": _resource(
        "A brand that answers name.", "category count name", category=text("competitor"), name=text("Southgale")
    ),
    "PromptReport": _resource(
        "The reports on a text, by answer engine.",
        "chatgpt",
        chatgpt=about(nullable(ref("Report")), "Null before the first analysis of the prompt."),
    ),
    "BrandVoice": _resource(
        "An editorial identity for generations.",
        "id name brandName targetAudience additionalInformation enabled status createdAt",
        "bvc",
        name=text("Plain and warm"),
        status=nullable(text("success", "An open set of words.")),
    ),
    "KnowledgeDocument": _resource(
        "A text, an address or a file that feeds generations.",
        "id name createdAt status summary type url workspace",
        "kdo",
        name=text("Tone"),
        status=nullable(ref("KnowledgeDocumentStatus")),
        type=nullable(ref("KnowledgeDocumentType")),
        url=absent(about(STRING, "Source of a document of the type `url`.")),
        workspace=ref("WorkspaceReference"),
    ),
    "ContentIdeaSearch": _resource(
        "A search for content ideas.",
        "id createdAt keyword nbContentIdeas searchVolume status",
        "cis",
        keyword=nullable(text("trail running", "Seed keyword.")),
        searchVolume=absent(about(COUNT, "Searches of the seed keyword a month.")),
        status=nullable(ref("ContentIdeaSearchStatus")),
    ),
    "ContentIdea": _resource(
        "An idea that a search has found.",
        "id keyword searchVolume createdAt",
        "idea",
        keyword=text("best trail shoes"),
    ),
    "CreditUsage": _resource(
        "One consumption of credits.",
        "id createdAt amount remainingCredits type keyword user workspace",
        "use",
        type=ref("CreditType"),
        keyword=ref("CreditUsageKeyword"),
        user=ref("Person"),
        workspace=ref("Reference"),
    ),
    "CreditUsageKeyword": _resource("The keyword that credits were used for.", "keyword countryCode languageCode"),
}


def show(resource: str, record: object, **computed: Any) -> Document:
    """Show a record as a resource.

    Args:
        resource: Name of the resource.
        record: The record, whose attributes have the names of the fields in snake case.
        computed: The fields that the record does not have, or has in another form.
    """
    shown: Document = {}
    for name, attribute, is_moment in _attributes(resource):
        value: Any = computed[attribute] if attribute in computed else getattr(record, attribute)
        shown[name] = optional_timestamp(value) if is_moment else value
    return shown


@functools.cache
def _attributes(resource: str) -> list[tuple[str, str, bool]]:
    """Return the fields of a resource: name, attribute of the record, and whether it is a moment."""
    return [
        (name, re.sub("([A-Z])", r"_\1", name).lower(), MOMENT["format"] in (schema.get("format"), _inner(schema)))
        for name, schema in RESOURCES[resource]["properties"].items()
    ]


def _inner(schema: Schema) -> object:
    return schema.get("anyOf", [{}])[0].get("format")
