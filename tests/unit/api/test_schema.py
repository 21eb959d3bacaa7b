"""JSON Schema, made from classes."""

from __future__ import annotations

import enum
from typing import Any

import attrs
import jsonschema_rs
import pytest

import cmsapi
from cmsapi.api.wire.schema import DIALECT, Definitions


class Colour(enum.Enum):
    """List colours."""

    RED = "red"


@attrs.frozen
class Box:
    """Describe a box.

    Args:
        wide_side: Its width, which may
            take two lines.
        colour: Its colour.
        sides: Two sides.
        inner: The box inside.
        rest: Anything.
    """

    wide_side: int
    colour: Colour | None = None
    sides: tuple[float, float] = (0.0, 0.0)
    inner: Box | None = None
    rest: Any = None


def test_a_class_becomes_an_object() -> None:
    """Names are those of the wire, texts those of the docstring, and a class may hold itself."""
    defined = Definitions()
    document = defined.document("a box", defined.of(Box))
    assert (document["$schema"], document["title"]) == (DIALECT, "a box")
    box = document["$defs"]["Box"]
    assert (box["description"], box["required"]) == ("A box.", ["wideSide"])
    assert box["properties"]["wideSide"] == {
        "type": "integer",
        "description": "Its width, which may take two lines.",
    }
    validator = jsonschema_rs.Draft202012Validator(document)
    inner = {"wideSide": 1, "colour": None, "rest": [1]}
    assert validator.is_valid({"wideSide": 2, "colour": "red", "sides": [1, 2], "inner": inner})
    for wrong in ({}, {"wideSide": "2"}, {"wideSide": 2, "colour": "blue"}, {"wideSide": 2, "sides": [1]}):
        assert not validator.is_valid(wrong)


def test_every_model_has_a_schema() -> None:
    """Each public model can be described, and a word or a key that is not listed fits."""
    public = [getattr(cmsapi, name) for name in cmsapi.__all__]
    models = [each for each in public if isinstance(each, type) and issubclass(each, cmsapi.Model)]
    models.remove(cmsapi.Model)
    assert len(models) > 20
    for model in models:
        defined = Definitions()
        jsonschema_rs.meta.validate(defined.document(model.__name__, defined.of(model)))
    defined = Definitions()
    document = defined.document("", defined.of(cmsapi.Keyword))
    keyword = cmsapi.to_dict(cmsapi.Keyword(id="kw", analysis_status=cmsapi.AnalysisStatus("new-word")))
    jsonschema_rs.validate(document, keyword | {"mood": "good"})


def test_what_has_no_form_is_refused() -> None:
    """A type that JSON does not have is an error of the program."""
    with pytest.raises(TypeError, match="no form in JSON"):
        Definitions().of(set[int])
