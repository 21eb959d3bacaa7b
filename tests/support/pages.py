"""Run the documentation: its Python blocks, on one virtual-time loop per page, and compare what they print.

Four conventions make a page executable:

- A block marked `python` is run; top-level `await` works, as in `python -m asyncio`. A block that calls `asyncio.run`
  is a whole program and gets the page's loop from there. On a page that imports `cmsapi.blocking` no block runs inside
  a loop, and the thread of the client runs the page's loop.
- A block marked `text` right after it is what it prints; `...` stands for anything.
- A block marked `console` has command lines after `$ ` and what they print on either output.
- A comment that begins with `invisible-code: python` is run and not shown.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import contextlib
import doctest
import io
import re
import shlex
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sybil import Document, Example, Region
from sybil.parsers.abstract import AbstractCodeBlockParser
from sybil.parsers.markdown.lexers import DirectiveInHTMLCommentLexer, FencedCodeBlockLexer

import cmsapi
from benchmarks.virtual import PatientLoop
from cmsapi.cli.running import run

ROOT = Path(__file__).parents[2]
LANGUAGES = ("python", "text", "console")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

PAGES = sorted(
    page for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")] if "_build" not in page.relative_to(ROOT).parts
)
# Workers, sites and flows need servers or packages of their own; their tests start them.
PROGRAMS = sorted(
    page for page in ROOT.glob("examples/*.py") if not page.stem.endswith(("_worker", "_app", "_task", "_flow"))
)


class VirtualTime:
    """Run coroutines one after another on one loop whose time passes at once."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner(loop_factory=PatientLoop)

    def __enter__(self) -> VirtualTime:
        self._runner.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()

    def run(self, main: Any, *, debug: bool | None = None) -> Any:
        """Do what `asyncio.run` does, but keep the loop and what lives on it."""
        return self._runner.run(main)


class BlockParser(AbstractCodeBlockParser):
    """Find Python blocks and the blocks with their output; run and compare them.

    Args:
        time: Where they run.
    """

    language = "python"

    def __init__(self, time: VirtualTime) -> None:
        super().__init__(
            [
                FencedCodeBlockLexer("|".join(LANGUAGES), mapping={"language": "arguments", "source": "source"}),
                DirectiveInHTMLCommentLexer("invisible-code", "python"),
            ]
        )
        self._time = time
        self._printed: str | None = None
        self._without_loop = False

    def __call__(self, document: Document) -> Iterable[Region]:
        for region in self.lexers(document):
            region.parsed = region.lexemes["source"]
            evaluators = {"python": self.run, "text": self.compare, "console": self.command}
            region.evaluator = evaluators[region.lexemes["arguments"]]
            yield region

    def run(self, example: Example) -> None:
        """Run a block in the page's namespace."""
        source = "\n" * (example.line + example.parsed.line_offset) + example.parsed
        code = compile(source, example.path, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        # Unlike `exec`, a function does not add them; the C half of `pickle` imports through them.
        example.namespace["__builtins__"] = builtins
        block = types.FunctionType(code, example.namespace)

        async def on_the_loop() -> None:
            outcome = block()
            if outcome is not None:
                await outcome

        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self._without_loop = self._without_loop or "import cmsapi.blocking" in source
            if self._without_loop or "asyncio.run(" in source:
                block()
            else:
                self._time.run(on_the_loop())
        self._printed = printed.getvalue()

    def compare(self, example: Example) -> str | None:
        """Compare what the last block printed with what the page says."""
        if self._printed is None:
            return "There is no Python block whose output this could be; leave the language away for other texts."
        promised, printed, self._printed = str(example.parsed), self._printed, None
        if doctest.OutputChecker().check_output(promised, printed, OPTIONS):
            return None
        return f"The page promises:\n{promised}\nbut its block prints:\n{printed}"

    def command(self, example: Example) -> str | None:
        """Run each command line of a block in this process, and compare what it prints."""
        for part in re.split(r"^\$ ", str(example.parsed), flags=re.MULTILINE)[1:]:
            line, _, promised = part.partition("\n")
            name, *tokens = shlex.split(line)
            if name != "cmsapi":
                return f"Only cmsapi is run: {line}"
            # `run` starts the loop with `asyncio.run`, which is the page's here.
            with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(printed):
                run(tokens)
            if not doctest.OutputChecker().check_output(promised, printed.getvalue(), OPTIONS):
                return f"The page promises for {line}:\n{promised}\nbut it prints:\n{printed.getvalue()}"
        return None


def run_page(page: Path, time: VirtualTime) -> int:
    """Run a page from top to bottom and close the clients it leaves behind; return the number of blocks."""
    document = Document.parse(str(page), BlockParser(time))
    try:
        examples = list(document.examples())
        for example in examples:
            example.evaluate()
    finally:
        for value in document.namespace.values():
            if isinstance(value, cmsapi.Client):
                time.run(value.aclose())
    return len(examples)
