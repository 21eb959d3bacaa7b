"""The kinds of jobs stand in one place, and fit to the table of operations."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import cmsapi
from cmsapi.api.operations import Replay
from cmsapi.jobs import JobKind
from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.kinds.registry import KINDS

PACKAGE = Path(cmsapi.__file__).parent
# The kinds themselves, what launches them, and what stands outside of the SDK.
NAMING = ("jobs/kinds", "resources", "blocking", "mcp", "cli", "sandbox")
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)


def named_kinds(module: Path) -> Iterator[str]:
    """Give the members of `JobKind` and their words that a module names, except in the signatures of overloads."""
    tree = ast.parse(module.read_text())
    overloads = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any(ast.unparse(each) == "overload" for each in node.decorator_list)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith("JobKind") and node.attr.isupper():
            yield f"{module.relative_to(PACKAGE)}:{node.lineno} {node.attr}"
        if isinstance(node, ast.Constant) and node.value in list(JobKind) and node not in overloads:
            yield f"{module.relative_to(PACKAGE)}:{node.lineno} {node.value}"


def test_no_other_module_names_a_kind() -> None:
    """A new kind needs no change anywhere else."""
    modules = [path for path in PACKAGE.rglob("*.py") if not path.relative_to(PACKAGE).as_posix().startswith(NAMING)]
    assert len(modules) > 100
    assert [name for module in modules for name in named_kinds(module)] == []


def test_kinds_that_name_themselves_are_found() -> None:
    """The test above finds what it is about."""
    assert any("GENERATION" in name for name in named_kinds(PACKAGE / "jobs/kinds/generation.py"))


def test_each_listed_kind_is_known() -> None:
    """Each member has one kind."""
    assert list(KINDS) == [kind.name for kind in KINDS.values()] == list(JobKind)


@each_kind
def test_operations_of_a_kind_exist(kind: Kind) -> None:
    """What a poll, a launch and a read of a list call is in the table, and takes the parameter that is filled in."""
    assert f"{{{kind.parameter}}}" in cmsapi.OPERATIONS[kind.operation].path
    if kind.launch_operation:
        assert cmsapi.OPERATIONS[kind.launch_operation].replay is Replay.COSTS_CREDIT
    if kind.list_operation:
        assert f"{{{kind.list_parameter}}}" in cmsapi.OPERATIONS[kind.list_operation].path


@each_kind
def test_what_costs_a_credit_names_its_balance(kind: Kind) -> None:
    """A paid launch has a balance, and only what is paid for stands in usages."""
    assert (kind.balance is not None) is bool(kind.launch_operation)
    assert kind.balance is not None or not kind.in_usages


def test_each_paid_operation_has_its_kind() -> None:
    """No operation that costs a credit is without a kind that knows how to find out what became of it."""
    paid = {name for name, operation in cmsapi.OPERATIONS.items() if operation.replay is Replay.COSTS_CREDIT}
    assert paid == {kind.launch_operation for kind in KINDS.values() if kind.launch_operation}
