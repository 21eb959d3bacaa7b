"""Write the classes of `cmsapi.blocking` from those of the async client.

A method is written with the signature of the async one, where what the method would have to be awaited for is what it
returns. Its docstring is that of the async one, where the words for async code are replaced.
"""

from __future__ import annotations

import ast
import copy
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from tools.blocking.classes import FILES, Made
from tools.blocking.wording import reworded

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "cmsapi/blocking"
_HEADER = """\
# Written by `make blocking` from the async classes; do not edit.
# mypy: disable-error-code=no-any-return
"""
# Types of the blocking client that have other parameters or results.
_TYPES = {
    "Callable[[I], Awaitable[Job[R]]]": "Callable[[I], Job[R]]",
    "Iterable[I] | AsyncIterable[I]": "Iterable[I]",
}
_HOOK = "ReviewHook: TypeAlias = Callable[[GenerationReview], ReviewChoice]\n"
_CHANGE = "Change: TypeAlias = Callable[[Content], ContentChanges]\n"
_STANDARD = """
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, Self, TypeAlias, TypeVar, Unpack, overload
"""
_VARIABLES = ('I = TypeVar("I")  # noqa: E741  an item', 'R = TypeVar("R")', 'E = TypeVar("E")')
_OUTCOME = """#: How one item of a fan-out ended; `error` is None on the first only.
Outcome: TypeAlias = Succeeded[I, R] | Failed[I, R]
"""
# Arguments that are not handed on as they are, by parameter and the beginning of its type.
_HANDED = {
    **{
        (name, kind): f'in_worker("{name}", {name}, self.thread)'
        for name, kind in (
            ("launch", "Callable"),
            ("on_review", "ReviewHook"),
            ("on_done", "Callable"),
            ("change", "Change"),
        )
    },
    **{(name, "Iterable"): f"whole({name})" for name in ("items", "jobs")},
    ("key", "Callable"): "keyed(key, items)",
}
# Methods that send nothing, and tell what is known also after the end of the client.
_STILL = ("done", "result", "exception", "rows")


def written(name: str) -> str:
    """Return the text of a file."""
    told, imports, classes = FILES[name]
    sources = {module: Source(module) for made in classes for module in (made.module, *(m for m, _ in made.more))}
    parts = [class_of(made, sources) for made in classes]
    # Behind the classes that they name.
    for place, alias in ((0, _CHANGE),) if name == "resources.py" else ((4, _HOOK), (3, _OUTCOME)):
        if name != "client.py":
            parts.insert(place, alias)
    body = "\n\n".join(parts)
    needed = _words(re.sub(r'""".*?"""', "", body, flags=re.DOTALL))
    needed -= _words(imports) | {made.name for made in classes} | {"Outcome", "ReviewHook", "Change"}
    found = {each for source in sources.values() for each in source.imports if each.name in needed}
    lines = sorted((each.lazy, each.line) for each in found)
    lazily = [f"    {line}" for lazy, line in lines if lazy]
    head = [
        f'"""{told}"""',
        _HEADER,
        "from __future__ import annotations",
        _STANDARD + imports,
        *(f"from {made.module} import {made.name} as Async{made.name}" for made in classes),
        *(line for lazy, line in lines if not lazy),
        *(["if TYPE_CHECKING:", *lazily] if lazily else []),
        *(_VARIABLES if name == "jobs.py" else []),
    ]
    return formatted("\n".join(head) + "\n\n" + body)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def formatted(text: str) -> str:
    """Sort the imports, remove those that are not needed, and format."""
    for command in (
        ["check", "--fix", "--quiet", "--exit-zero", "--select", "I,F401"],
        ["format", "--quiet"],
    ):
        line = [sys.executable, "-m", "ruff", *command, "--stdin-filename", "cmsapi/blocking/jobs.py", "-"]
        text = subprocess.run(line, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return text


@attrs.frozen
class Import:
    """Hold an import of one name.

    Args:
        name: The name.
        line: The import.
        lazy: Whether only type checkers need it.
    """

    name: str
    line: str
    lazy: bool


class Source:
    """Hold the classes and imports of a module.

    Args:
        module: Its name.
    """

    def __init__(self, module: str) -> None:
        path = ROOT / module.replace(".", "/")
        self.tree = ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text())
        self.imports: set[Import] = set()
        for node in self.tree.body:
            for each in node.body if isinstance(node, ast.If) else [node]:
                self.imports |= {Import(*found, isinstance(node, ast.If)) for found in _imported(each, module)}

    def class_named(self, name: str) -> ast.ClassDef:
        """Return a class."""
        return next(node for node in self.tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def _imported(node: ast.stmt, module: str) -> Iterator[tuple[str, str]]:
    """Give the names that a statement imports or defines, and the line that imports each."""
    match node:
        case ast.ImportFrom(module=source, names=names):
            yield from ((each.asname or each.name, f"from {source} import {ast.unparse(each)}") for each in names)
        case ast.Import(names=names):
            yield from ((each.asname or each.name, f"import {ast.unparse(each)}") for each in names)
        case ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name, f"from {module} import {name}"


def class_of(made: Made, modules: dict[str, Source]) -> str:
    """Return the text of a class."""
    found = modules[made.module].class_named(made.name)
    if made.copied:
        return f"@copies(Async{made.name})\n{reworded(ast.unparse(found))}\n"
    doc = made.doc or reworded(ast.get_docstring(found, clean=False) or "").split("\n\n    Args:")[0]
    if made.name == "Client":
        arguments = (ast.get_docstring(found, clean=False) or "").partition("    Args:")[2]
        arguments = re.sub(r"        session: .*?(?=        hooks:)", "", arguments, flags=re.DOTALL)
        doc += "\n    Args:" + reworded(arguments)
    doc = doc.rstrip() + ("\n    " if "\n" in doc.rstrip() else "")
    lines = [f"class {made.name}({made.bases}, of=Async{made.name}):", f'    """{doc}"""', "", "    __slots__ = ()", ""]
    seen: set[str] = set()
    for node in (found, *(modules[module].class_named(name) for module, name in made.more)):
        lines += members(node, made, seen)
    return "\n".join(lines) + "\n"


def members(node: ast.ClassDef, made: Made, seen: set[str]) -> Iterator[str]:
    """Give the lines of the public members of a class that no earlier class has."""
    taken = set(seen)
    for name, annotation in attributes(node):
        if name not in taken and name not in made.without:
            seen.add(name)
            lazy = made.name == "Client"
            getter = f"self._part({name!r})" if lazy else f"self._read({name!r})"
            yield f"    @property\n    def {name}(self) -> {annotation}:\n        return {getter}\n"
    for function in node.body:
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        constructor = made.name == "Client" and function.name == "__init__"
        if function.name in taken or (function.name.startswith("_") and not constructor):
            continue
        if function.name in (*made.without, "aclose"):
            continue
        seen.add(function.name)
        yield textwrap.indent(method(function, constructor=constructor), "    ") + "\n"


def attributes(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Give the names and types of the public attributes of a class."""
    seen = set()
    setting = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
    for each in (*node.body, *(line for function in setting for line in function.body)):
        if isinstance(each, ast.AnnAssign):
            name = each.target.attr if isinstance(each.target, ast.Attribute) else ast.unparse(each.target)
            if not name.startswith("_") and name not in seen:
                seen.add(name)
                yield name, ast.unparse(each.annotation)


def method(function: ast.FunctionDef | ast.AsyncFunctionDef, *, constructor: bool) -> str:
    """Return the text of a method."""
    decorators = {ast.unparse(each) for each in function.decorator_list}
    blocking: Any = ast.parse(f"def {function.name}(): ...").body[0]
    blocking.decorator_list = function.decorator_list
    arguments = blocking.args = copy.deepcopy(function.args)
    if constructor:
        place = [each.arg for each in arguments.kwonlyargs].index("session")
        del arguments.kwonlyargs[place], arguments.kw_defaults[place]
    for each in (*arguments.args, *arguments.kwonlyargs):
        if each.annotation is not None:
            each.annotation = ast.parse(blocking_type(ast.unparse(each.annotation)), mode="eval").body
    returned = blocking_type(ast.unparse(function.returns) if function.returns else "None")
    blocking.returns = ast.parse(returned, mode="eval").body
    signature = ast.unparse(ast.fix_missing_locations(blocking)).removesuffix("...").rstrip()
    if "overload" in decorators:
        return f"{signature} ..."
    doc = reworded(ast.get_docstring(function, clean=False) or "")
    doc = textwrap.dedent("        " + doc) if doc else ""
    raw = "r" if "\\" in doc else ""
    told = (
        textwrap.indent(f'{raw}"""{doc.strip()}' + ('\n"""' if "\n" in doc.strip() else '"""'), "    ") if doc else ""
    )
    given = ", ".join([repr(function.name), *passed(arguments)])
    if constructor:
        line = f"self._start_with(AsyncClient({', '.join(passed(arguments))}))"
    elif "property" in decorators:
        line = f"return self._read({function.name!r})"
    elif isinstance(function, ast.AsyncFunctionDef) and returned.startswith("Iterator"):
        line = f"return self._iterate({given})"
    else:
        way = "_ask" if function.name in _STILL else "_call"
        line = f"self.{way}({given})" if returned == "None" else f"return self.{way}({given})"
    if "items" in [each.arg for each in arguments.args]:
        line = "items = whole(items)\n    " + line.replace("whole(items)", "items")
    return "\n".join(part for part in (signature, told, f"    {line}") if part) + "\n"


def passed(arguments: ast.arguments) -> Iterator[str]:
    """Give what a method hands on for each parameter."""
    for each in arguments.args[1:]:
        yield handed(each)
    if arguments.vararg is not None:
        yield f"*{arguments.vararg.arg}"
    for each in arguments.kwonlyargs:
        yield f"{each.arg}={handed(each)}"
    if arguments.kwarg is not None:
        yield f"**{arguments.kwarg.arg}"


def handed(parameter: ast.arg) -> str:
    """Return what a method hands on for a parameter."""
    annotation = ast.unparse(parameter.annotation) if parameter.annotation else ""
    kind = re.match(r"\w*", annotation)
    return _HANDED.get((parameter.arg, kind[0] if kind else ""), parameter.arg)


def blocking_type(annotation: str) -> str:
    """Return what a type of the async client is here."""
    for ours, theirs in _TYPES.items():
        annotation = annotation.replace(ours, theirs)
    return re.sub(r"\bAsync(?:Iterator|Generator)\[(.*?)(?:, None)?\]$", r"Iterator[\1]", annotation)
