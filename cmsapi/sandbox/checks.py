"""Checks of queries and bodies against an operation's schemas (specification 7: 400 if malformed, 422 if invalid)."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs

# Imported together with the sandbox: jsonschema reads its schemas from files, which must not happen in an event loop.
try:
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.exceptions import best_match
except ModuleNotFoundError:
    raise ModuleNotFoundError("the sandbox needs an extra: pip install 'cmsapi[sandbox]'") from None

from cmsapi.sandbox.openapi import Operation, Parameter
from cmsapi.sandbox.refusal import Refusal

JSON_TYPE = re.compile(r"application/(\S+\+)?json")
INTEGER = re.compile(r"-?[0-9]{1,18}")


def read_query(operation: Operation, text: str, malformed: int) -> dict[str, Any]:
    """Return the operation's parameters from the query string ``text``. Add defaults, and ignore unknown parameters.

    Raises:
        Refusal: 400 if a required parameter is missing; the status ``malformed`` if a value is invalid.
    """
    values: dict[str, Any] = {}
    given = parse_qs(text, keep_blank_values=True) if text and operation.query else {}
    for parameter in operation.query:
        name, texts = parameter.name, given.get(parameter.name, [])
        if parameter.schema.get("type") == "array":
            texts = texts + given.get(f"{name}[]", [])
        if texts:
            values[name] = _value(parameter, texts, malformed)
        elif parameter.required:
            raise Refusal(400, f"'{name}' is required.")
        elif "default" in parameter.schema:
            values[name] = parameter.schema["default"]
    return values


def read_body(operation: Operation, media_type: str, body: bytes) -> Any:
    """Return the parsed ``body``; an empty dictionary if it is empty or the operation ignores it.

    Raises:
        Refusal: 415 if it is not declared as JSON; 400 if malformed, or required but empty; 422 if it is invalid.
    """
    if not operation.reads_body:
        return {}
    is_json = JSON_TYPE.fullmatch(media_type.partition(";")[0].strip().lower())
    if not is_json and (body or media_type):
        raise Refusal(415, "The body must be application/json.")
    if not body:
        if operation.body_required:
            raise Refusal(400, "The request needs a body.")
        return {}
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
        if operation.body is None:
            return {}
        validator = Draft202012Validator(operation.body)
        if validator.is_valid(value):
            return value
        error = best_match(validator.iter_errors(value))
    except (ValueError, RecursionError):
        raise Refusal(400, "The body is not valid JSON.") from None
    raise Refusal(422, f"'{_field(error)}' is not valid ({error.validator}).")


def _value(parameter: Parameter, texts: list[str], malformed: int) -> Any:
    kind = parameter.schema.get("type")
    value: Any = texts
    if kind != "array":
        value = texts[0] if len(texts) == 1 else None
    if kind == "integer" and value is not None:
        value = int(value) if INTEGER.fullmatch(value) else None
    if not Draft202012Validator(parameter.schema).is_valid(value):
        raise Refusal(malformed, f"'{parameter.name}' is not valid.")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _field(error: ValidationError) -> str:
    """Return the dotted path of the invalid field, such as ``settings.brandVoiceId``; ``body`` for the body itself."""
    names = [str(part) for part in error.absolute_path]
    found: Any = error.instance
    schema: Any = error.schema
    if error.validator == "required":
        names.append(next(name for name in schema["required"] if name not in found))
    elif error.validator == "additionalProperties":
        names.append(next(name for name in found if name not in schema["properties"]))
    return ".".join(names) or "body"
