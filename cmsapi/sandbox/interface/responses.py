"""JSON Schemas of what the service answers: `/openapi.json` describes them."""

from __future__ import annotations

from cmsapi.sandbox.interface.shapes import (
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
)

_URL = like(STRING, "https://northwind.example/trail-shoes")
_WEBSITE = like(STRING, "https://northwind.example", "Root of the tracked website.")
_IMAGE = nullable(like(STRING, "https://northwind.example/people/ada.png"))
_COUNTRY = like(STRING, "US", "ISO 3166-1 alpha-2.")
_LANGUAGE = like(STRING, "en", "ISO 639-1.")
_VOLUME = like(COUNT, 5400, "Searches a month.")
_PHRASE = like(STRING, "trail shoes")
_HTML = "<h1>Trail shoes</h1><p>How to choose a pair.</p>"

_PERSON: dict[str, Schema] = {
    "id": identifier("usr"),
    "firstName": like(STRING, "Ada"),
    "lastName": like(STRING, "Moreau"),
}
_MEMBER: dict[str, Schema] = {
    **_PERSON,
    "email": like(STRING, "ada.moreau@northwind.example"),
    "jobTitle": like(STRING, "Head of Content"),
    "profileImageUrl": _IMAGE,
    "createdAt": MOMENT,
}
_PAGE: dict[str, Schema] = {
    "id": identifier("pag"),
    "url": about(nullable(_URL), "Null until the page of a draft has an address."),
    "lastStatusCode": about(nullable(like(INTEGER, 200)), "HTTP status of the last crawl."),
}
_WORKSPACE: dict[str, Schema] = {"id": identifier("wsp"), "name": like(STRING, "Northwind shop")}
_SHORT_CONTENT: dict[str, Schema] = {
    "id": identifier("cnt"),
    "title": like(STRING, "Trail shoes for beginners"),
    "type": ref("ContentType"),
    "contentScore": nullable({**like(INTEGER, 64, "SEO quality score, 0 to 100."), "minimum": 0, "maximum": 100}),
    "wordsCount": like(COUNT, 870),
    "createdAt": MOMENT,
    "updatedAt": MOMENT,
    "contentUpdatedAt": nullable(about(MOMENT, "Moment of the last change of the body.")),
    "publishedAt": nullable(MOMENT),
    "dueDate": nullable(MOMENT),
    "assignedTo": nullable(ref("Assignee")),
    "contentStatus": nullable(ref("ContentStatus")),
    "folder": nullable(ref("Reference")),
    "page": ref("PageReference"),
}
_GENERATION: dict[str, Schema] = {
    "id": identifier("gen"),
    "status": nullable(
        like(
            STRING, "queued", "`queued` after the launch, `review` when it waits for a decision; other words may come."
        )
    ),
}
_ANALYSIS: dict[str, Schema] = {
    "analysisStatus": nullable(
        like(STRING, "success", "Word for the state of the analysis, an open set; null before the first analysis.")
    ),
    "lastAnalyzedAt": nullable(about(MOMENT, "End of the last analysis.")),
}
_KEYWORD: dict[str, Schema] = {
    "id": identifier("kwd"),
    "keyword": _PHRASE,
    "searchVolume": _VOLUME,
    "countryCode": _COUNTRY,
    "languageCode": _LANGUAGE,
    "pageId": identifier("pag"),
}

RESPONSES: dict[str, Schema] = {
    "Error": shape({"error": ref("ErrorDetail")}, "An error (section 7)."),
    "ErrorDetail": shape(
        {
            "code": ref("ErrorCode"),
            "message": like(STRING, "name: is required", "Text for people; for a 422 it names the failing field."),
        },
        "What went wrong.",
    ),
    "Message": shape({"message": like(STRING, "Analysis started")}, "A text for people."),
    "Health": shape({"status": like(STRING, "ok")}, "The state of the service."),
    "Description": {"type": "object", "description": "An OpenAPI 3.1 document.", "examples": [{"openapi": "3.1.0"}]},
    "Pagination": shape(
        {
            "total": like(COUNT, 1, "Items on all pages."),
            "page": like(INTEGER, 1, "Number of this page, from 1."),
            "limit": like(INTEGER, 25, "Largest number of items on a page."),
            "hasMore": like(BOOLEAN, example=False, description="Whether there is a next page."),
        },
        "The place of a page in its collection (section 1, rule 3).",
    ),
    "Reference": shape(
        {"id": identifier("fld"), "name": like(STRING, "Guides")}, "Another resource, by its identifier and name."
    ),
    "Person": shape(_PERSON, "A user, in short form."),
    "Assignee": shape(
        {**_PERSON, "email": _MEMBER["email"], "profileImageUrl": _IMAGE}, "The member who works on a content."
    ),
    "CreditBalances": shape(
        {
            "analysis": like(INTEGER, 1200),
            "aiWriting": like(INTEGER, 80),
            "contentIdeasSearches": like(INTEGER, 45),
        },
        "The remaining credits of each balance.",
    ),
    "Organization": shape(
        {
            "id": identifier("org"),
            "name": like(STRING, "Northwind"),
            "createdAt": MOMENT,
            "brandName": nullable(like(STRING, "Northwind")),
            "brandImageUrl": nullable(_URL),
            "credits": ref("CreditBalances"),
            "usersCount": like(COUNT, 5),
            "workspacesCount": like(COUNT, 1),
        },
        "The owner of users, workspaces and credits.",
    ),
    "User": shape(
        {**_MEMBER, "languageCode": _LANGUAGE, "organization": ref("Organization")}, "The owner of the API key."
    ),
    "Member": shape({**_MEMBER, "role": ref("Role")}, "A member of the organisation."),
    "WorkspaceMember": shape(
        {**_MEMBER, "role": like(STRING, "editor", "Role in the workspace, an open set.")}, "A member of a workspace."
    ),
    "Workspace": shape(
        {
            **_WORKSPACE,
            "websiteUrl": _WEBSITE,
            "countryCode": _COUNTRY,
            "countryName": like(STRING, "United States"),
            "languageCode": _LANGUAGE,
            "createdAt": MOMENT,
            "organization": ref("Reference"),
        },
        "A tracked website.",
    ),
    "WorkspaceReference": shape({**_WORKSPACE, "websiteUrl": _WEBSITE}, "A workspace, in short form."),
    "ContentStatus": shape(
        {
            "id": identifier("cst"),
            "label": like(STRING, "In progress"),
            "color": like(STRING, "#2f6fde"),
            "position": like(INTEGER, 1),
            "isReadOnly": like(BOOLEAN, example=False),
        },
        "A workflow status of a workspace.",
    ),
    "Folder": shape(
        {
            "id": identifier("fld"),
            "name": nullable(like(STRING, "Guides")),
            "depth": like(COUNT, 0, "0 at the top level."),
            "nbAssociatedContents": like(COUNT, 3),
            "parentFolderId": absent(about(STRING, "Null at the top level.")),
        },
        "A folder of contents.",
    ),
    "ShortContent": shape(_SHORT_CONTENT, "An article as lists show it: without its text."),
    "Content": shape(
        {
            **_SHORT_CONTENT,
            "contentUpdatedBy": nullable(ref("Person")),
            "publishedBy": nullable(ref("Person")),
            "html": like(STRING, _HTML, "Body as authored; it may contain an editor's annotations."),
            "htmlSanitized": like(STRING, _HTML, "Body without annotations, safe to publish."),
            "isStarted": about(BOOLEAN, "Whether there is any body."),
            "metaDescription": nullable(like(STRING, "How to choose trail shoes, in five steps.")),
            "lastGeneration": nullable(ref("LastGeneration")),
            "version": like(INTEGER, 3, "Version for optimistic locking."),
        },
        "An article, attached to a page.",
    ),
    "PageReference": shape(_PAGE, "A page, in short form."),
    "Generation": shape(_GENERATION, "A generation of Atomic Content."),
    "LastGeneration": shape({**_GENERATION, "type": like(STRING, "optimize")}, "The last generation of a content."),
    "Page": shape({**_PAGE, "createdAt": MOMENT}, "A URL of the tracked website."),
    "Keyword": shape({**_KEYWORD, **_ANALYSIS}, "A search term tracked for a page."),
    "KeywordItem": shape(_KEYWORD, "A search term as lists show it.", optional=_ANALYSIS),
    "Prompt": shape(
        {"id": identifier("prm"), "prompt": like(STRING, "What are the best trail shoes?"), **_ANALYSIS},
        "A question that people ask AI answer engines.",
    ),
    "Report": shape(
        {
            "score": {**like({"type": "number"}, 0.64), "minimum": 0, "maximum": 1},
            "recommendations": like({}, [{"term": "trail", "count": 2, "recommended": 5}], "Any JSON."),
            "sources": listing(ref("Source")),
            "brands": listing(ref("Brand")),
            "preview": nullable(like(STRING, "Most answers to trail shoes name Northwind.")),
        },
        "The score of a text, with what to improve.",
    ),
    "Source": shape(
        {
            "category": like(STRING, "editorial"),
            "domain": like(STRING, "northwind.example"),
            "organicPosition": nullable(like(INTEGER, 2)),
            "position": like(INTEGER, 1),
            "title": like(STRING, "Trail shoes: what Northwind says"),
            "type": like(STRING, "citation"),
            "url": _URL,
        },
        "A page that answers cite.",
    ),
    "Brand": shape(
        {"category": like(STRING, "competitor"), "count": like(COUNT, 4), "name": like(STRING, "Southgale")},
        "A brand that answers name.",
    ),
    "PromptReport": shape(
        {"chatgpt": about(nullable(ref("Report")), "Null before the first analysis of the prompt.")},
        "The reports on a text, by answer engine.",
    ),
    "BrandVoice": shape(
        {
            "id": identifier("bvc"),
            "name": like(STRING, "Plain and warm"),
            "brandName": nullable(like(STRING, "Northwind")),
            "targetAudience": nullable(like(STRING, "people who run for fun")),
            "additionalInformation": nullable(like(STRING, "short sentences")),
            "enabled": BOOLEAN,
            "status": nullable(like(STRING, "success", "An open set of words.")),
            "createdAt": MOMENT,
        },
        "An editorial identity for generations.",
    ),
    "KnowledgeDocument": shape(
        {
            "id": identifier("kdo"),
            "name": like(STRING, "Tone"),
            "createdAt": MOMENT,
            "status": nullable(ref("KnowledgeDocumentStatus")),
            "summary": nullable(like(STRING, "What to know about tone.", "Null until the processing succeeds.")),
            "type": nullable(ref("KnowledgeDocumentType")),
            "url": absent(about(STRING, "Source of a document of the type `url`.")),
            "workspace": ref("WorkspaceReference"),
        },
        "A text, an address or a file that feeds generations.",
    ),
    "ContentIdeaSearch": shape(
        {
            "id": identifier("cis"),
            "createdAt": MOMENT,
            "keyword": nullable(like(STRING, "trail running", "Seed keyword.")),
            "nbContentIdeas": absent(about(COUNT, "Number of ideas; null until the search succeeds.")),
            "searchVolume": absent(about(COUNT, "Searches of the seed keyword a month.")),
            "status": nullable(ref("ContentIdeaSearchStatus")),
        },
        "A search for content ideas.",
    ),
    "ContentIdea": shape(
        {
            "id": identifier("idea"),
            "keyword": like(STRING, "best trail shoes"),
            "searchVolume": _VOLUME,
            "createdAt": MOMENT,
        },
        "An idea that a search has found.",
    ),
    "CreditUsage": shape(
        {
            "id": identifier("use"),
            "createdAt": MOMENT,
            "amount": like(INTEGER, 1, "Credits that were consumed."),
            "remainingCredits": like(INTEGER, 1199, "Balance after it."),
            "type": ref("CreditType"),
            "keyword": ref("CreditUsageKeyword"),
            "user": ref("Person"),
            "workspace": ref("Reference"),
        },
        "One consumption of credits.",
    ),
    "CreditUsageKeyword": shape(
        {"keyword": _PHRASE, "countryCode": _COUNTRY, "languageCode": _LANGUAGE},
        "The keyword that credits were used for.",
    ),
}
