"""Say which Python names are public: those that the reference describes, and those that its packages export."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: Packages whose exported names are public; the page on versions names them, too.
PACKAGES = ("cmsapi", "cmsapi.blocking", "cmsapi.sandbox", "cmsapi.testing")

#: What the docstring of an attribute says that only the SDK itself uses.
INTERNAL = "for the SDK itself"

#: Special methods that show an object, help with misspelt names or belong to Python: no promise.
NOT_PROMISED = frozenset(
    {"__repr__", "__str__", "__slots__", "__match_args__", "__reduce__", "__copy__", "__post_init__"}
    | {"__attrs_post_init__", "__init_subclass__", "__new__", "__getattr__", "__dir__"}
)

#: Whether only the SDK makes the objects of a class, so that its constructor is not public.
is_read_only: Callable[[object], bool] = runpy.run_path(str(ROOT / "docs/_extensions/constructors.py"))["is_read_only"]


def is_promised(name: str) -> bool:
    """Tell whether a member of a public class is public by its name."""
    if name in NOT_PROMISED:
        return False
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def described(root: Path = ROOT) -> set[str]:
    """Return the names that the reference of a checkout describes."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in root.glob("docs/reference/*.md"))
    return set(re.findall(r"^\.\. (?:auto\w+|py:data):: (cmsapi[\w.]*)", text, re.MULTILINE))
