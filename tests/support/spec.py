"""The marker ``spec``: which rule of the specification a test proves, and which rules no test proves.

``@spec("7.3")`` on a test, or ``marks=spec("2.4:title")`` on one of its parameters, names rules of ``spec_rules.txt``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


_LINES = (Path(__file__).parent / "spec_rules.txt").read_text().splitlines()
RULES = frozenset(line.partition(" ")[0] for line in _LINES if line and not line.startswith("#"))
_TESTED = pytest.StashKey[set[str]]()


def spec(*names: str) -> pytest.MarkDecorator:
    """Return a mark for a test that proves some rules.

    Raises:
        ValueError: A name is not in ``spec_rules.txt``; pytest reports it during collection.
    """
    _refuse_unknown(names)
    return pytest.mark.spec(*names)


def _refuse_unknown(names: Iterable[str]) -> None:
    if unknown := sorted(set(names) - RULES):
        raise ValueError(f"no rules of the specification: {', '.join(unknown)}")


def pytest_configure(config: pytest.Config) -> None:
    """Start with no rule tested."""
    config.stash[_TESTED] = set()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Collect the marked rules before ``-m`` and ``-k`` deselect tests."""
    tested = config.stash[_TESTED]
    for item in items:
        for mark in item.iter_markers("spec"):
            _refuse_unknown(mark.args)
            tested.update(mark.args)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the rules to the reporting process, if this is one of its workers."""
    if hasattr(session.config, "workeroutput"):
        tested = session.config.stash[_TESTED]
        session.config.workeroutput["spec"] = sorted(tested)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the rules that a worker collected; a crashed worker has none."""
    tested = node.config.stash[_TESTED]
    tested.update(getattr(node, "workeroutput", {}).get("spec", ()))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: pytest.ExitCode, config: pytest.Config
) -> None:
    """Print the rules without a test, after a run of all unit tests."""
    asked = {(config.invocation_params.dir / name).resolve() for name in config.args}
    if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or not asked & {ROOT, ROOT / "unit"}:
        return
    tested = config.stash[_TESTED]
    if missing := sorted(RULES - tested):
        terminalreporter.section(f"specification: {len(missing)} of {len(RULES)} rules without a test")
        terminalreporter.line(" ".join(missing))
