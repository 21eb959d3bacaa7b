"""Settings of the documentation: Sphinx, furo, MyST. `make docs` builds it, and warnings are errors."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cmsapi import __version__

project = "cmsapi"
author = "The cmsapi authors"
copyright = "2026, the cmsapi authors"  # noqa: A001  the name that Sphinx reads
release = version = __version__

_urls = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
from constructors import is_read_only  # noqa: E402  beside this file

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "notfound.extension",
    "code_lines",
    "llms",
]
# Fragments of the changelog are no pages.
exclude_patterns = ["_build", "jupyter_execute", "changes"]
# The notebooks are kept without their outputs and run by every build, so that none can be stale.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
html_theme = "furo"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_title = f"cmsapi {version}"
html_show_sphinx = False
html_copy_source = False

# Read the Docs says where a version will be, and which one it is. A build of one's own links to no other place.
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", "")
if html_baseurl:
    _built = os.environ["READTHEDOCS_GIT_IDENTIFIER"]
    html_theme_options = {
        "source_repository": _urls["Repository"],
        "source_branch": _built,
        "source_directory": "docs/",
        # Only what a branch has can be edited.
        "top_of_page_buttons": ["view", "edit"] if os.environ["READTHEDOCS_VERSION_TYPE"] == "branch" else ["view"],
    }

# A page that is missing can be missed at any depth, so its links are absolute.
notfound_urls_prefix = urlsplit(html_baseurl).path or "/"
notfound_context = {
    "title": "Page not found",
    "body": (
        "<h1>Page not found</h1><p>This version of the documentation has no page of this name. Search for it, or begin "
        f'with the <a href="{notfound_urls_prefix}index.html">overview</a>. '
        f'The <a href="{notfound_urls_prefix}genindex.html">index</a> has every public name.</p>'
    ),
}

# What other projects document. A build without a network links to the names in `_inventories`, which are those that
# these pages use; Read the Docs has a network, and falls back on them where another site does not answer.
intersphinx_mapping = {
    name: (url, (None, f"_inventories/{name}.inv") if html_baseurl else f"_inventories/{name}.inv")
    for name, url in {
        "python": "https://docs.python.org/3/",
        "aiohttp": "https://docs.aiohttp.org/en/stable/",
        "anyio": "https://anyio.readthedocs.io/en/stable/",
        "attrs": "https://www.attrs.org/en/stable/",
        "cattrs": "https://catt.rs/en/stable/",
    }.items()
}
intersphinx_timeout = 10

# `make links` leaves out what is not there before the first release, and what is on this machine alone.
linkcheck_ignore = [
    rf"{re.escape(_urls['Repository'])}(/|$)",
    re.escape(_urls["Documentation"]),
    r"https?://(127\.0\.0\.1|localhost|\[::1\])",
    # Pictures that lead to themselves; `make docs` follows them.
    r"\.\./_images/",
]
linkcheck_timeout = 20
linkcheck_retries = 3
linkcheck_workers = 4
# The parts of a page on a code host are made by its scripts.
linkcheck_anchors_ignore_for_url = [r"https://github\.com/"]
linkcheck_rate_limit_timeout = 60
linkcheck_report_timeouts_as_broken = False

# What a block prints has no button. Of a console only the commands are copied, without the prompt.
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True

# Words in single backticks in a docstring are code.
default_role = "code"
highlight_language = "none"
myst_heading_anchors = 3

# The SDK and the sandbox have classes of the same name, for example Credits, and a short name cannot tell which.
suppress_warnings = ["ref.python"]

napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_attr_annotations = False
napoleon_custom_sections = [("Fields", "params_style")]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
# Names of the public surface stay what users type.
autodoc_type_aliases = {name: name for name in ("Hook", "JobEvent", "ReviewHook")}
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90


# Users do not make these by hand, so their constructors are not documented.
_MADE_FOR_YOU = {"AsCompleted", "Fanout", "Job", "JobTable", "Jobs", "OperationTable", "Paginator"}
# Arguments of classes that users read and do not make.
_INNER = {"caller", "exchange", "poller"}


def _signature(
    app: object, what: str, name: str, thing: object, options: object, arguments: str | None, result: str | None
) -> tuple[str, str | None] | None:
    if not arguments:
        return None
    if is_read_only(thing) or name.endswith("GenerationSettings"):
        return "", None
    # Sphinx cannot read a signature with the text of a class in it, and writes an alias in a union as a reference.
    for pattern in (r"<class '(?:\w+\.)*(\w+)'>", r"~?(?:\w+\.)*TypeAliasForwardRef\('(\w+)'\)"):
        arguments = re.sub(pattern, r"\1", arguments)
        result = re.sub(pattern, r"\1", result) if result else result
    return arguments.replace("ssl_module.", "ssl.").replace("= NOTHING", "= {}"), result


def _docstring(app: object, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    if what == "property" and lines:
        # Napoleon takes what stands before a colon for a type.
        lines[0] = lines[0].replace(": ", " – ", 1)  # noqa: RUF001  a dash between two halves of a sentence
    if not is_read_only(thing) or "Args:" not in lines:
        return
    begin = lines.index("Args:")
    end = next((place for place in range(begin, len(lines)) if not lines[place]), len(lines))
    fields = "\n".join(lines[begin + 1 : end])
    kept = [
        entry
        for entry in re.split(r"\n(?=    \S)", fields)
        if entry.strip().partition(":")[0] not in _INNER and getattr(thing, "__name__", "") not in _MADE_FOR_YOU
    ]
    lines[begin:end] = ["Fields:", *"\n".join(kept).split("\n")] if kept else []


def setup(app: Any) -> None:
    """Register what the settings cannot say."""
    app.connect("autodoc-process-signature", _signature)
    # Before Napoleon.
    app.connect("autodoc-process-docstring", _docstring, priority=400)
