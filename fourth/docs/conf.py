"""Settings of the pages: ``sphinx-build -W docs build/docs``. It takes no network."""

from __future__ import annotations

from cmsapi import OPERATIONS, __version__
from cmsapi.jobs.kinds import kinds_of

project = "cmsapi"
copyright = "2026, the cmsapi authors"  # noqa: A001  the name that Sphinx reads
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"cmsapi {release}"
html_copy_source = False
html_show_sphinx = False

# Single backticks of docstrings are links to names, where there is such a name.
default_role = "py:obj"
add_module_names = False
python_use_unqualified_type_names = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_class_signature = "separated"
autodoc_default_options = {"members": True, "show-inheritance": False}
napoleon_use_ivar = True
toc_object_entries = False
suppress_warnings = ["ref.python"]  # `type` is an attribute of several models, and a class of Python

myst_enable_extensions = ["substitution"]
myst_heading_anchors = 3


def operations() -> str:
    """Return the table of operations."""
    credit = {kind.launch: kind.credit for kind in kinds_of().values() if kind.credit}
    rows = ["name | route | provenance | credit | repeated", "---|---|---|---|---"]
    for each in OPERATIONS.values():
        columns = f"`{each.name}`", f"`{each.method} {each.path}`", each.provenance.name.lower()
        rows.append(" | ".join([*columns, credit.get(each.name, ""), "yes" if each.repeatable else ""]))
    return "\n".join(f"| {row} |" for row in rows)


myst_substitutions = {"operations": operations()}
