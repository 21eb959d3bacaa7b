"""Settings of the documentation: Sphinx, furo, MyST. `make docs` builds it, and warnings are errors."""

from __future__ import annotations

from typing import Any

from cmsapi import Model, __version__

project = "cmsapi"
author = "The cmsapi authors"
copyright = "2026, the cmsapi authors"  # noqa: A001  the name that Sphinx reads
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"cmsapi {version}"
html_show_sphinx = False
html_copy_source = False

# Words in single backticks in a docstring are code.
default_role = "code"
highlight_language = "none"
myst_heading_anchors = 3

# The SDK and the sandbox have classes of the same name, for example Credits, and a short name cannot tell which.
suppress_warnings = ["ref.python"]

napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_attr_annotations = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90


def _without_signature(app: object, what: str, name: str, thing: object, *_: Any) -> tuple[str, None] | None:
    # Nobody makes a model by hand; its parameters are described below, one a line.
    return ("", None) if isinstance(thing, type) and issubclass(thing, Model) else None


def setup(app: Any) -> None:
    """Register what the settings cannot say."""
    app.connect("autodoc-process-signature", _without_signature)
