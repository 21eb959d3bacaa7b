"""Answers of the sandbox, held against its own `/openapi.json`."""

from __future__ import annotations

import functools
import json
import re
from typing import Any

import jsonschema_rs

from cmsapi.message import Response
from cmsapi.sandbox import Sandbox
from cmsapi.sandbox.faults.spoiling import SPOILINGS
from cmsapi.sandbox.interface.openapi import document
from cmsapi.sandbox.interface.routes import Route
from cmsapi.sandbox.messages.answers import message_of

_STATUSES_OF_FAULTS = {*range(300, 600)} - {500, 502, 503}
_ALWAYS = {"content-type", "content-length", "date", "server"}
_OF_BROWSERS = {
    "cache-control",
    "content-security-policy",
    "cross-origin-resource-policy",
    "referrer-policy",
    "x-content-type-options",
}


REFERENCES = {
    "workspaceId": "workspace_id",
    "folderId": "folder_ids",
    "parentFolderId": "folder_ids",
    "contentId": "content_ids",
    "contentStatusId": "content_status_ids",
    "assignedToId": "user_ids",
    "brandVoiceId": "brand_voice_ids",
    "pageId": "page_ids",
    "keywordId": "keyword_ids",
    "promptId": "prompt_ids",
    "knowledgeDocumentId": "knowledge_document_ids",
}


def refer(box: Sandbox, fields: object) -> None:
    """Replace generated references by existing identifiers, which a schema cannot know."""
    if not isinstance(fields, dict):
        return
    for name, value in fields.items():
        if name in REFERENCES and isinstance(value, str):
            known = getattr(box, REFERENCES[name])
            fields[name] = known if isinstance(known, str) else known[len(value) % len(known)]
        refer(box, value)


def check_described(sandbox: Sandbox, method: str, path: str, response: Response) -> None:
    """Fail unless an answer has a described status, the described headers and the described shape.

    An answer that a fault has spoiled is as it should be. So are a fault with a status that is not
    described, and a service that departs from its description on purpose.
    """
    behaviour, books = sandbox._service.world.behaviour, sandbox._service.world.books
    if any(entry.outcome in SPOILINGS for entry in sandbox.ledger[-1:]):
        return
    if response.status in _STATUSES_OF_FAULTS and message_of(response.body) in (None, "a fault of the sandbox"):
        return
    if behaviour.words or behaviour.item_ids or (behaviour.has_more, behaviour.total) != ("told", "told"):
        return
    if books.keyword in ("null", "absent") or books.user != "key":
        return
    described = _description(sandbox.routes, behaviour.rate_headers)
    problems = described.problems(method, path.partition("?")[0], response)
    assert not problems, f"{method} {path}: {response.status}: {problems}"


@functools.cache
def _description(routes: tuple[Route, ...], rate_headers: str) -> Description:
    return Description(json.loads(json.dumps(document(routes, rate_headers))))


class Description:
    """Hold answers against an OpenAPI document.

    Args:
        described: The document.
    """

    def __init__(self, described: dict[str, Any]) -> None:
        self._document = described
        self._paths = [(re.compile(re.sub(r"{\w+}", "[^/]+", path)), item) for path, item in described["paths"].items()]
        self._validators: dict[str, Any] = {}

    def problems(self, method: str, path: str, response: Response) -> list[str]:
        """Return how an answer differs from its description."""
        described = self._described(method, path, str(response.status))
        if described is None:
            return [f"the status {response.status} is not described"]
        return [*self._in_headers(described, response), *self._in_body(described, response)]

    def _described(self, method: str, path: str, status: str) -> Any:
        # What is no operation has the errors of one.
        responses = self._document["paths"]["/v1/workspaces/{workspaceId}"]["get"]["responses"]
        for pattern, item in self._paths:
            if pattern.fullmatch(path) and method.lower() in item:
                responses = item[method.lower()]["responses"]
        return self._resolved(responses.get(status))

    def _resolved(self, found: Any) -> Any:
        while isinstance(found, dict) and "$ref" in found:
            target: Any = self._document
            for part in found["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            found = target
        return found

    def _in_headers(self, described: Any, response: Response) -> list[str]:
        known = {name.lower(): self._resolved(header) for name, header in described.get("headers", {}).items()}
        served = {name.lower(): value for name, value in response.headers.items()}
        missing = [f"no {name}" for name, header in known.items() if header.get("required") and name not in served]
        unknown = [f"{name} is not described" for name in served.keys() - known.keys() - _ALWAYS - _OF_BROWSERS]
        wrong = [
            f"{name}: {value}"
            for name, value in served.items()
            if name in known and known[name]["schema"]["type"] == "integer" and not value.isdecimal()
        ]
        return missing + unknown + wrong

    def _in_body(self, described: Any, response: Response) -> list[str]:
        content = described.get("content")
        if content is None:
            return ["a body is not described"] if response.body else []
        media = response.headers.get("content-type", "").partition(";")[0]
        if media not in content:
            return [f"the type {media!r} is not described"]
        if media != "application/json":
            return []
        schema = json.dumps(content[media]["schema"])
        if schema not in self._validators:
            whole = {**content[media]["schema"], "components": self._document["components"]}
            self._validators[schema] = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
        errors = self._validators[schema].iter_errors(json.loads(response.body))
        return [f"{'/'.join(map(str, error.instance_path))}: {error.message}" for error in errors]
