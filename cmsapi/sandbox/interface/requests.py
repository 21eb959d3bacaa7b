"""JSON Schemas of request bodies: `/openapi.json` describes them, and the service checks bodies against them."""

from __future__ import annotations

from cmsapi.sandbox.messages.shapes import (
    ADDRESS,
    BOOLEAN,
    FILLED,
    INTEGER,
    MOMENT,
    STRING,
    Schema,
    about,
    absent,
    identifier,
    like,
    nullable,
    ref,
    shape,
)

_TITLE = {**like(STRING, "Trail shoes for beginners", "1 to 255 characters."), "minLength": 1, "maxLength": 255}
_HTML = like(STRING, "<h1>Trail shoes</h1><p>How to choose a pair.</p>", "Body as authored in the editor.")
_META = like(STRING, "How to choose trail shoes, in five steps.")
_DRAFT: dict[str, Schema] = {
    "assignedToId": identifier("usr", "Member of the workspace who works on the content."),
    "contentStatusId": identifier("cst", "Workflow status of the workspace."),
    "dueDate": MOMENT,
    "folderId": identifier("fld"),
    "html": _HTML,
    "metaDescription": _META,
}
_SETTINGS: dict[str, Schema] = {
    "brandVoiceId": identifier("bvc", "Brand voice to apply."),
    "customInstructions": like(STRING, "Write for beginners.", "Extra instructions."),
    "factCheckingEnabled": BOOLEAN,
    "knowledgeBaseEnabled": BOOLEAN,
    "knowledgeFilesEnabled": BOOLEAN,
    "knowledgeWebSearchEnabled": BOOLEAN,
    "knowledgeWebsiteEnabled": BOOLEAN,
}
_NAME = like(FILLED, "Tone")
_CONTENT: dict[str, Schema] = {"contentId": identifier("cnt", "Content of the same workspace.")}
_TEXT: dict[str, Schema] = {
    "title": like(STRING, "Trail shoes for beginners"),
    "html": _HTML,
}
_KNOWLEDGE_TEXT: dict[str, Schema] = {"text": like(FILLED, "We write plainly.")}
_KNOWLEDGE_URL: dict[str, Schema] = {"url": ADDRESS}


def _without(properties: dict[str, Schema]) -> Schema:
    """Describe the names of an object's properties, without some."""
    return {"not": {"enum": list(properties)}}


REQUESTS: dict[str, Schema] = {
    "NewFolder": shape(
        {"name": like(FILLED, "Guides")},
        "A folder to create.",
        optional={"parentFolderId": absent(about(STRING, "Folder around the new one; null for the top level."))},
    ),
    "NewContent": shape(
        {"title": _TITLE},
        "A draft to create.",
        optional={
            **_DRAFT,
            "pageId": identifier("pag", "Page to attach the draft to; without one an empty page is created."),
        },
    ),
    "ContentChanges": shape(
        {"version": about(INTEGER, "Version that the changes are based on.")},
        "Changes of a content: an absent field stays as it is, and null clears a field.",
        optional={"title": _TITLE, **{name: nullable(schema) for name, schema in _DRAFT.items()}},
    ),
    "Publication": shape({}, "A publication.", optional={"url": about(ADDRESS, "Address where the content appears.")}),
    "GenerationSettings": shape({}, "Settings of a generation; each is optional.", optional=_SETTINGS),
    "GenerationRequest": shape({"settings": ref("GenerationSettings")}, "A generation to launch."),
    "NewPage": shape({"url": ADDRESS}, "A page to import."),
    "NewKeyword": shape({"keyword": like(FILLED, "trail shoes")}, "A search term to track."),
    "NewPrompt": shape({"prompt": like(FILLED, "What are the best trail shoes?")}, "A question to track."),
    "ContentToScore": shape(
        _CONTENT, "A content to score.", optional={"metaDescription": _META}, propertyNames=_without(_TEXT)
    ),
    "TextToScore": shape(
        _TEXT, "A text to score.", optional={"metaDescription": _META}, propertyNames=_without(_CONTENT)
    ),
    "ReportRequest": {
        "description": "What to score: a content, or a title with HTML.",
        "oneOf": [ref("ContentToScore"), ref("TextToScore")],
    },
    "NewKnowledgeText": shape(
        {"name": _NAME, **_KNOWLEDGE_TEXT}, "A text to add.", propertyNames=_without(_KNOWLEDGE_URL)
    ),
    "NewKnowledgeUrl": shape(
        {"name": _NAME, **_KNOWLEDGE_URL}, "An address to add.", propertyNames=_without(_KNOWLEDGE_TEXT)
    ),
    "NewKnowledgeDocument": {
        "description": "A knowledge document to create: a text or an address.",
        "oneOf": [ref("NewKnowledgeText"), ref("NewKnowledgeUrl")],
    },
    "NewContentIdeaSearch": shape(
        {"keyword": like(FILLED, "trail running", "Seed keyword or topic.")},
        "A search to start; other properties are refused.",
        additionalProperties=False,
    ),
}

# Without references; the handlers choose between the alternatives.
CHECKED: dict[str, Schema] = {
    **REQUESTS,
    "GenerationRequest": shape({"settings": REQUESTS["GenerationSettings"]}),
    "ReportRequest": shape({}, optional={**_CONTENT, **_TEXT, "metaDescription": _META}),
    "NewKnowledgeDocument": shape({"name": _NAME}, optional={**_KNOWLEDGE_TEXT, **_KNOWLEDGE_URL}),
}
