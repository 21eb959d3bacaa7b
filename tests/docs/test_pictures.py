"""The pictures of the README and the pages: what they say, and that they are whole without their page."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
DRAWINGS = sorted((ROOT / "docs/_static").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"


def title(drawing: Path) -> str | None:
    """Return what a drawing says to a reader who does not see it."""
    return ElementTree.parse(drawing).getroot().findtext(f"{SVG}title")  # noqa: S314  a file of ours


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda drawing: drawing.name)
def test_a_drawing_stands_alone(drawing: Path) -> None:
    """A drawing has a title and loads nothing, so that it works as an image on any page."""
    assert title(drawing)
    assert re.findall(r"(?:href|src)=\"(?!#)|url\((?!#)|@import|<script", drawing.read_text()) == []


def test_light_and_dark_say_the_same() -> None:
    """A drawing for light pages has a twin for dark ones, and both say the same."""
    for light in (ROOT / "docs/_static").glob("*-light.svg"):
        assert title(light) == title(light.with_name(light.name.replace("-light", "-dark")))


def test_the_readme_says_what_its_pictures_show() -> None:
    """Each picture of the README is there, and its text is the title of the drawing."""
    readme = (ROOT / "README.md").read_text()
    shown = re.findall(r'<img src="([^"]+)"[^>]* alt="([^"]+)"', readme)
    assert shown
    assert [(ROOT / path).name for path, text in shown if title(ROOT / path) != text] == []
    assert [path for path in re.findall(r'srcset="([^"]+)"', readme) if not (ROOT / path).exists()] == []
