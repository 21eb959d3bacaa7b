"""A check that each response of a sandbox in a test is described in ``openapi.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema_rs
import pytest

from cmsapi.messages import Request, Response
from cmsapi.sandbox.openapi import routes
from cmsapi.sandbox.service import Service
from cmsapi.sandbox.store import Choices


@cache
def _description() -> Any:
    return json.loads(routes().description)


def _resolved(answer: dict[str, Any]) -> dict[str, Any]:
    name = answer.get("$ref", "").rpartition("/")[2]
    return _description()["components"]["responses"][name] if name else answer


@cache
def _responses() -> dict[str, dict[str, Any]]:
    return {
        each["operationId"]: each["responses"] for path in _description()["paths"].values() for each in path.values()
    }


@cache
def _validator(operation: str, status: int) -> tuple[Any, list[str]]:
    """Return the validator of a body, None for a body that is not JSON, and the names of the required headers."""
    answer = _resolved(_responses()[operation][str(status)])
    schema = answer.get("content", {}).get("application/json", {}).get("schema")
    whole = {"components": _description()["components"], **(schema or {})}
    validator = jsonschema_rs.validator_for(whole, validate_formats=True) if schema else None
    return validator, [name.lower() for name in answer.get("headers", ())]


def problem(request: Request, response: Response) -> str | None:
    """Return what is wrong with a response, or None."""
    operation = routes().match(
        request.method, "/" + request.url.partition("://")[2].partition("/")[2].partition("?")[0]
    )
    if operation.operation is None:
        return None
    name = operation.operation.name
    what = f"{name} {response.status}"
    if str(response.status) not in _responses()[name]:
        return f"{what} is not described"
    validator, headers = _validator(name, response.status)
    if missing := set(headers) - set(response.headers):
        return f"{what} lacks {missing}"
    if validator is not None and (error := next(validator.iter_errors(response.json()), None)):
        return f"{what}: {error}"
    return None


@pytest.fixture(autouse=True)
def described_responses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test in which a sandbox gave an undescribed response, unless it was told to behave otherwise."""
    problems: list[str] = []
    handle = Service.handle

    async def checked(service: Service, request: Request) -> Response:
        response = await handle(service, request)
        told = service.faults.rules or service.jobs.outcomes or service.store.choices != Choices()
        if not told and (found := problem(request, response)):
            problems.append(found)
        return response

    monkeypatch.setattr(Service, "handle", checked)
    yield
    assert not problems
