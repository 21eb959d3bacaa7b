"""JSON Schemas of bodies: the service checks requests against them, and `/openapi.json` describes all of them."""

from __future__ import annotations

from typing import Any

from cmsapi.sandbox.world.billing import TYPES

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
FILLED: Schema = {"type": "string", "minLength": 1}
MOMENT: Schema = {"type": "string", "format": "date-time"}
BOOLEAN: Schema = {"type": "boolean"}
INTEGER: Schema = {"type": "integer"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 255}
ADDRESS: Schema = {"type": "string", "pattern": "^https?://[^/]"}


def ref(name: str) -> Schema:
    """Refer to a schema of the components."""
    return {"$ref": f"#/components/schemas/{name}"}


def nullable(schema: Schema) -> Schema:
    """Allow null beside a schema."""
    return {"anyOf": [schema, {"type": "null"}]}


def listing(schema: Schema) -> Schema:
    """Describe a list."""
    return {"type": "array", "items": schema}


def shape(properties: dict[str, Schema], *, optional: dict[str, Schema] | None = None, **more: Any) -> Schema:
    """Describe an object whose properties are required, except the optional ones."""
    known = {**properties, **(optional or {})}
    return {"type": "object", "properties": known, "required": list(properties), **more}


def page_of(name: str) -> Schema:
    """Describe the envelope of a paginated collection (section 1, rule 3)."""
    return shape({"data": listing(ref(name)), "pagination": ref("Pagination")})


def _only(wanted: list[str], refused: list[str]) -> Schema:
    return {"required": wanted, "not": {"anyOf": [{"required": [name]} for name in refused]}}


def _one_of(one: list[str], other: list[str]) -> list[Schema]:
    return [_only(one, other), _only(other, one)]


_DRAFT: dict[str, Schema] = {
    "assignedToId": STRING,
    "contentStatusId": STRING,
    "dueDate": MOMENT,
    "folderId": STRING,
    "html": STRING,
    "metaDescription": STRING,
}

REQUESTS: dict[str, Schema] = {
    "NewFolder": shape({"name": FILLED}, optional={"parentFolderId": nullable(STRING)}),
    "NewContent": shape({"title": NAME}, optional={**_DRAFT, "pageId": STRING}),
    "ContentChanges": shape(
        {"version": INTEGER},
        optional={"title": NAME, **{name: nullable(schema) for name, schema in _DRAFT.items()}},
    ),
    "Publication": shape({}, optional={"url": ADDRESS}),
    "GenerationRequest": shape(
        {
            "settings": shape(
                {},
                optional={
                    "brandVoiceId": STRING,
                    "customInstructions": STRING,
                    "factCheckingEnabled": BOOLEAN,
                    "knowledgeBaseEnabled": BOOLEAN,
                    "knowledgeFilesEnabled": BOOLEAN,
                    "knowledgeWebSearchEnabled": BOOLEAN,
                    "knowledgeWebsiteEnabled": BOOLEAN,
                },
            )
        }
    ),
    "NewPage": shape({"url": ADDRESS}),
    "NewKeyword": shape({"keyword": FILLED}),
    "NewPrompt": shape({"prompt": FILLED}),
    "ReportRequest": shape(
        {},
        optional={"contentId": STRING, "title": STRING, "html": STRING, "metaDescription": STRING},
        oneOf=_one_of(["contentId"], ["title", "html"]),
    ),
    "NewKnowledgeDocument": shape(
        {"name": FILLED}, optional={"text": FILLED, "url": ADDRESS}, oneOf=_one_of(["text"], ["url"])
    ),
    "NewContentIdeaSearch": shape({"keyword": FILLED}, additionalProperties=False),
}

_PERSON: dict[str, Schema] = {"id": STRING, "firstName": STRING, "lastName": STRING}
_NAMED: Schema = shape({"id": STRING, "name": STRING})
_MEMBER: dict[str, Schema] = {
    **_PERSON,
    "email": STRING,
    "jobTitle": STRING,
    "profileImageUrl": nullable(STRING),
    "createdAt": MOMENT,
}
_SHORT_CONTENT: dict[str, Schema] = {
    "id": STRING,
    "title": STRING,
    "type": {"type": "string", "enum": ["DRAFT", "PUBLISHED", "ORIGINAL"]},
    "contentScore": nullable({"type": "integer", "minimum": 0, "maximum": 100}),
    "wordsCount": COUNT,
    "createdAt": MOMENT,
    "updatedAt": MOMENT,
    "contentUpdatedAt": nullable(MOMENT),
    "publishedAt": nullable(MOMENT),
    "dueDate": nullable(MOMENT),
    "assignedTo": nullable(shape({**_PERSON, "email": STRING, "profileImageUrl": nullable(STRING)})),
    "contentStatus": nullable(ref("ContentStatus")),
    "folder": nullable(_NAMED),
    "page": shape({"id": STRING, "url": nullable(STRING), "lastStatusCode": nullable(INTEGER)}),
}
_ANALYSIS: dict[str, Schema] = {"analysisStatus": nullable(STRING), "lastAnalyzedAt": nullable(MOMENT)}
_KEYWORD: dict[str, Schema] = {
    "id": STRING,
    "keyword": STRING,
    "searchVolume": COUNT,
    "countryCode": STRING,
    "languageCode": STRING,
    "pageId": STRING,
}

RESPONSES: dict[str, Schema] = {
    "Error": shape({"error": shape({"code": STRING, "message": STRING})}),
    "Message": shape({"message": STRING}),
    "Health": shape({"status": STRING}),
    "Pagination": shape({"total": COUNT, "page": INTEGER, "limit": INTEGER, "hasMore": BOOLEAN}),
    "User": shape(
        {
            **_MEMBER,
            "languageCode": STRING,
            "organization": shape(
                {
                    "id": STRING,
                    "name": STRING,
                    "createdAt": MOMENT,
                    "brandName": nullable(STRING),
                    "brandImageUrl": nullable(STRING),
                    "credits": shape({"analysis": INTEGER, "aiWriting": INTEGER, "contentIdeasSearches": INTEGER}),
                    "usersCount": COUNT,
                    "workspacesCount": COUNT,
                }
            ),
        }
    ),
    "Member": shape({**_MEMBER, "role": STRING}),
    "Workspace": shape(
        {
            "id": STRING,
            "name": STRING,
            "websiteUrl": STRING,
            "countryCode": STRING,
            "countryName": STRING,
            "languageCode": STRING,
            "createdAt": MOMENT,
            "organization": _NAMED,
        }
    ),
    "ContentStatus": shape(
        {"id": STRING, "label": STRING, "color": STRING, "position": INTEGER, "isReadOnly": BOOLEAN}
    ),
    "Folder": shape(
        {
            "id": STRING,
            "name": nullable(STRING),
            "depth": COUNT,
            "nbAssociatedContents": COUNT,
            "parentFolderId": nullable(STRING),
        }
    ),
    "ShortContent": shape(_SHORT_CONTENT),
    "Content": shape(
        {
            **_SHORT_CONTENT,
            "contentUpdatedBy": nullable(shape(_PERSON)),
            "publishedBy": nullable(shape(_PERSON)),
            "html": STRING,
            "htmlSanitized": STRING,
            "isStarted": BOOLEAN,
            "metaDescription": nullable(STRING),
            "lastGeneration": nullable(shape({"id": STRING, "status": nullable(STRING), "type": STRING})),
            "version": INTEGER,
        }
    ),
    "Generation": shape({"id": STRING, "status": nullable(STRING)}),
    "Page": shape({"id": STRING, "url": nullable(STRING), "lastStatusCode": nullable(INTEGER), "createdAt": MOMENT}),
    "Keyword": shape({**_KEYWORD, **_ANALYSIS}),
    "KeywordItem": shape(_KEYWORD, optional=_ANALYSIS),
    "Prompt": shape({"id": STRING, "prompt": STRING, **_ANALYSIS}),
    "Report": shape(
        {
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            # The specification does not show its shape: any JSON.
            "recommendations": {},
            "sources": listing(
                shape(
                    {
                        "category": STRING,
                        "domain": STRING,
                        "organicPosition": nullable(INTEGER),
                        "position": INTEGER,
                        "title": STRING,
                        "type": STRING,
                        "url": STRING,
                    }
                )
            ),
            "brands": listing(shape({"category": STRING, "count": COUNT, "name": STRING})),
            "preview": nullable(STRING),
        }
    ),
    "PromptReport": shape({"chatgpt": nullable(ref("Report"))}),
    "BrandVoice": shape(
        {
            "id": STRING,
            "name": STRING,
            "brandName": nullable(STRING),
            "targetAudience": nullable(STRING),
            "additionalInformation": nullable(STRING),
            "enabled": BOOLEAN,
            "status": nullable(STRING),
            "createdAt": MOMENT,
        }
    ),
    "KnowledgeDocument": shape(
        {
            "id": STRING,
            "name": STRING,
            "createdAt": MOMENT,
            "status": nullable(STRING),
            "summary": nullable(STRING),
            "type": nullable(STRING),
            "url": nullable(STRING),
            "workspace": shape({"id": STRING, "name": STRING, "websiteUrl": STRING}),
        }
    ),
    "ContentIdeaSearch": shape(
        {
            "id": STRING,
            "createdAt": MOMENT,
            "keyword": nullable(STRING),
            "nbContentIdeas": nullable(COUNT),
            "searchVolume": nullable(COUNT),
            "status": nullable(STRING),
        }
    ),
    "ContentIdea": shape({"id": STRING, "keyword": STRING, "searchVolume": COUNT, "createdAt": MOMENT}),
    "CreditUsage": shape(
        {
            "id": STRING,
            "createdAt": MOMENT,
            "amount": INTEGER,
            "remainingCredits": INTEGER,
            "type": {"type": "string", "enum": list(TYPES)},
            "keyword": shape({"keyword": STRING, "countryCode": STRING, "languageCode": STRING}),
            "user": shape(_PERSON),
            "workspace": _NAMED,
        }
    ),
}
