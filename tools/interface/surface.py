"""Read the public Python names of a checkout with griffe, without importing it, and write them as text."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import griffe

from tools.interface.public import INTERNAL, PACKAGES, ROOT, described, is_promised, is_read_only

#: A class, function or attribute as griffe read it.
Thing: TypeAlias = Any

_KEYWORD_ONLY = griffe.ParameterKind.keyword_only
_POSITIONAL = griffe.ParameterKind.positional_or_keyword
_LONGEST = 120


@attrs.frozen
class Surface:
    """Hold the public names of a checkout.

    Args:
        things: What each name stands for, by the name under which users import it.
    """

    things: dict[str, Thing]

    @classmethod
    def of(cls, root: Path = ROOT) -> Surface:
        """Read a checkout."""
        package: Thing = griffe.load("cmsapi", search_paths=[root], try_relative_path=False, allow_inspection=False)
        names = described(root)
        for name in PACKAGES:
            module = package if name == "cmsapi" else package.members.get(name.partition(".")[2])
            names |= {f"{name}.{each}" for each in exported(module)} if module else set()
        found = {name: _found(package, name) for name in sorted(names)}
        # An earlier version may describe what it does not have.
        things = {name: thing for name, thing in found.items() if thing is not None}
        for name, thing in things.items():
            if thing.is_class:
                _prune(name, thing)
        return cls(things)

    def lines(self) -> Iterator[str]:
        """Give the record of all names, as lines."""
        homes: dict[str, str] = {}
        for name, thing in self.things.items():
            home = homes.setdefault(thing.path, name)
            if home != name:
                yield f"{name} = {home}"
            elif thing.is_class:
                yield from self._class_lines(name, thing)
            elif thing.is_function:
                yield from _function_lines(thing, name)
            elif thing.is_attribute:
                yield _attribute_line(thing, name)
            else:
                yield name
            yield ""

    def _class_lines(self, name: str, thing: Thing) -> Iterator[str]:
        bases = ", ".join(str(base) for base in thing.bases)
        yield f"class {name}({bases})" if bases else f"class {name}"
        shared = {each.path for each in self.things.values()}
        for member in sorted(thing.all_members):
            each = thing.all_members[member]
            each = each.final_target if each.is_alias else each
            # Members that a public base has are listed there.
            if not is_promised(member) or (each.parent.path in shared and each.parent.path != thing.path):
                continue
            if each.is_function:
                yield from (f"    {line}" for line in _function_lines(each, member))
            elif each.is_attribute:
                yield f"    {_attribute_line(each, member, enum=_is_enum(thing))}"


def exported(module: Thing) -> set[str]:
    """Return the names that a package exports: by `__all__`, or by imports `as` the same name."""
    if module.exports:
        return {str(name) for name in module.exports}
    stub = module.filepath.with_suffix(".pyi")
    text = stub.read_text(encoding="utf-8") if stub.exists() else ""
    return {
        each.name
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
        if each.asname == each.name
    }


def _found(package: Thing, name: str) -> Thing | None:
    with contextlib.suppress(KeyError, griffe.AliasResolutionError):
        thing = package[name.partition(".")[2]]
        return thing.final_target if thing.is_alias else thing
    return None


def _is_enum(thing: Thing) -> bool:
    return any(str(base) in ("OpenEnum", "enum.Enum", "enum.StrEnum", "enum.IntEnum") for base in thing.bases)


def _prune(name: str, thing: Thing) -> None:
    """Give a class of attrs its constructor, and take away what is not public."""
    if "__init__" not in thing.members and (parameters := attrs_parameters(thing)) is not None:
        thing["__init__"] = griffe.Function(
            "__init__", lineno=thing.lineno, parent=thing, parameters=griffe.Parameters(*parameters), returns="None"
        )
    for kind in [thing, *thing.mro()]:
        for member in [each for each in kind.members.values() if each.docstring and INTERNAL in each.docstring.value]:
            del kind.members[member.name]
    if is_read_only(_imported(name)):
        for kind in [thing, *thing.mro()]:
            kind.members.pop("__init__", None)


def _imported(name: str) -> object:
    """Return what a name stands for in the present package, or None if it is gone."""
    import importlib

    module, _, member = name.rpartition(".")
    return getattr(importlib.import_module(module), member, None)


def attrs_parameters(thing: Thing) -> list[Thing] | None:
    """Return the parameters of the constructor that attrs makes, or None for a class without attrs."""
    if _decorated(thing) is None:
        return None
    found: dict[str, Thing] = {}
    for kind in [*reversed(thing.mro()), thing]:
        if (options := _decorated(kind)) is not None:
            found |= {each.name: each for each in _own_parameters(kind, options)}
    # attrs puts those that are keyword-only behind the others.
    return sorted(found.values(), key=lambda each: each.kind is _KEYWORD_ONLY)


def _decorated(thing: Thing) -> dict[str, str] | None:
    """Return the options of the decorator of attrs, or None without one."""
    for decorator in thing.decorators:
        tree = ast.parse(str(decorator.value), mode="eval").body
        call = tree.func if isinstance(tree, ast.Call) else tree
        if ast.unparse(call) in ("attrs.frozen", "attrs.define"):
            return {each.arg or "": ast.unparse(each.value) for each in getattr(tree, "keywords", ())}
    return None


def _own_parameters(thing: Thing, options: dict[str, str]) -> Iterator[Thing]:
    for member in thing.members.values():
        labels = member.labels if member.is_attribute else {"property"}
        if "property" in labels or member.annotation is None or labels == {"class-attribute"}:
            continue
        default = None if member.value is None else str(member.value)
        field: dict[str, str] = {}
        if default is not None and default.startswith("attrs.field("):
            call = ast.parse(default, mode="eval").body
            field = {each.arg or "": ast.unparse(each.value) for each in getattr(call, "keywords", ())}
            default = f"{field['factory']}()" if "factory" in field else field.get("default")
        if field.get("init") == "False":
            continue
        named = field["alias"].strip("'") if "alias" in field else member.name.lstrip("_")
        keyword = "True" in (options.get("kw_only"), field.get("kw_only"))
        yield griffe.Parameter(
            named, annotation=member.annotation, kind=_KEYWORD_ONLY if keyword else _POSITIONAL, default=default
        )


def _function_lines(thing: Thing, name: str) -> Iterator[str]:
    for each in thing.overloads or [thing]:
        kinds = "".join(f"@{label} " for label in ("classmethod", "staticmethod") if label in thing.labels)
        word = "async def" if "async" in thing.labels else "def"
        yield from _wrapped(f"{kinds}{word} {name}", list(_spelt(each)), f" -> {each.returns}" if each.returns else "")


def _spelt(thing: Thing) -> Iterator[str]:
    """Give the parameters of a function as they are written in a `def`."""
    before: Thing = None
    for each in thing.parameters:
        kind = each.kind
        if each.name in ("self", "cls") and before is None:
            continue
        if before is griffe.ParameterKind.positional_only is not kind:
            yield "/"
        if kind is _KEYWORD_ONLY and before not in (_KEYWORD_ONLY, griffe.ParameterKind.var_positional):
            yield "*"
        stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(kind, "")
        annotation = f": {each.annotation}" if each.annotation else ""
        default = f" = {each.default}" if each.default is not None and not stars else ""
        yield f"{stars}{each.name}{annotation}{default}"
        before = kind
    if before is griffe.ParameterKind.positional_only:
        yield "/"


def _wrapped(head: str, parameters: list[str], tail: str) -> Iterator[str]:
    """Write a signature on one line, or each parameter on its own if that is too long."""
    line = f"{head}({', '.join(parameters)}){tail}"
    if len(line) <= _LONGEST:
        yield line
        return
    yield f"{head}("
    yield from (f"    {each}," for each in parameters)
    yield f"){tail}"


def _attribute_line(thing: Thing, name: str, *, enum: bool = False) -> str:
    annotation = f": {thing.annotation}" if thing.annotation else ""
    read_only = " (property)" if "property" in thing.labels else ""
    shown = enum or thing.labels == {"class-attribute"} or "TypeAlias" in annotation
    return f"{name}{annotation}{f' = {thing.value}' if shown and thing.value is not None else ''}{read_only}"
