"""`/openapi.json` says what a reader and a generator of clients need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from cmsapi.sandbox.interface.descriptions import CONFLICTS, DESCRIPTIONS, TAGS, title
from cmsapi.sandbox.interface.openapi import document

DESCRIBED = document()
OPERATIONS = {each["operationId"]: each for item in DESCRIBED["paths"].values() for each in item.values()}
SCHEMAS = DESCRIBED["components"]["schemas"]


def inside(part: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object of the description with its place, from the outside in."""
    if isinstance(part, dict):
        yield place, part
    for name, each in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        yield from inside(each, f"{place}/{name}")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("ContentType", ["DRAFT", "PUBLISHED", "ORIGINAL"]),
        ("ContentIdeaSearchStatus", ["pending", "success", "failed"]),
        ("CreditType", ["analysis", "ai_writing", "content_idea_search"]),
        ("KnowledgeDocumentStatus", ["pending", "success", "failed"]),
        ("KnowledgeDocumentType", ["text", "url", "file"]),
        ("Role", ["Admin", "Member"]),
        (
            "ErrorCode",
            [
                "bad_request",
                "unauthorized",
                "forbidden",
                "not_found",
                "conflict",
                "validation_error",
                "rate_limited",
                "internal_error",
                "bad_gateway",
                "service_unavailable",
            ],
        ),
    ],
)
def test_the_words_of_the_specification_are_enumerations(schema: str, words: list[str]) -> None:
    """Each list of words in sections 2, 4.8 and 7 is a schema with a name, which others refer to."""
    assert SCHEMAS[schema]["enum"] == words
    references = [part for _, part in inside(DESCRIBED) if part.get("$ref") == f"#/components/schemas/{schema}"]
    assert references


def test_words_that_the_specification_does_not_show_stay_open() -> None:
    """The states of a generation and of an analysis, and the roles of a workspace, may be any word."""
    enumerations = {place for place, part in inside(DESCRIBED) if "enum" in part and not place.endswith("/not")}
    enumerations = {place for place in enumerations if "propertyNames" not in place}
    assert all(re.fullmatch(r"/components/schemas/\w+", place) for place in enumerations)
    assert len(enumerations) == 7


def test_each_operation_has_texts_and_a_tag() -> None:
    """No operation lacks a text, and no text lacks an operation."""
    assert OPERATIONS.keys() == DESCRIPTIONS.keys() >= CONFLICTS.keys()
    for name, operation in OPERATIONS.items():
        assert operation["summary"]
        assert operation["description"] == DESCRIPTIONS[name]
        assert "section" not in operation["summary"]
        assert all(parameter["description"] for parameter in operation.get("parameters", ()))
    tags = [tag for operation in OPERATIONS.values() for tag in operation["tags"]]
    assert list(dict.fromkeys(tags)) == [tag["name"] for tag in DESCRIBED["tags"]]
    assert set(tags) == {title(tag) for tag in TAGS}
    assert all(schema.get("description") for schema in SCHEMAS.values())


def test_each_example_is_valid() -> None:
    """The examples of bodies, answers and fields fit their schemas."""
    checked = 0
    for place, part in inside(DESCRIBED):
        if "/example" in place:
            continue
        if "schema" in part:
            examples = [each["value"] for each in part.get("examples", {}).values()] + [part.get("example")]
        else:
            examples = part.get("examples", [])
        whole = {**part.get("schema", part), "components": DESCRIBED["components"]}
        for example in examples:
            if example is not None:
                jsonschema_rs.Draft202012Validator(whole, validate_formats=True).validate(example)
                checked += 1
    assert checked > 2 * len(OPERATIONS)


def test_no_alternative_lacks_a_type() -> None:
    """Generators make a class of each alternative: an object with a name, or null."""
    for _, part in inside(DESCRIBED):
        for each in [*part.get("oneOf", ()), *part.get("anyOf", ())]:
            assert "$ref" in each or "type" in each


def test_names_do_not_clash() -> None:
    """The parameters of an operation keep different names as identifiers of a language."""
    for operation in OPERATIONS.values():
        names = [re.sub(r"\W", "", parameter["name"]).lower() for parameter in operation.get("parameters", ())]
        assert len(set(names)) == len(names)


def test_creations_link_to_what_takes_their_identifiers() -> None:
    """A generated client and a tester find by the links which operations go on with an answer."""
    paths = document()["paths"]
    answers = {
        each["operationId"]: answer
        for path in paths.values()
        for each in path.values()
        for status, answer in each["responses"].items()
        if status in ("201", "202")
    }
    links = {name: answer.get("links", {}) for name, answer in answers.items()}
    assert links["create_content"]["generate_content"]["parameters"] == {"contentId": "$response.body#/id"}
    assert links["start_content_idea_search"].keys() == {"get_content_idea_search", "list_content_ideas"}
    assert links["create_folder"].keys() == {"delete_folder"}
    assert links["analyze_keyword"]["get_keyword"]["parameters"] == {"keywordId": "$request.path.keywordId"}
    assert "get_generation" in links["generate_content"]
    assert all(links.values()), links
    known = {each["operationId"] for path in paths.values() for each in path.values()}
    assert {link["operationId"] for each in links.values() for link in each.values()} <= known
