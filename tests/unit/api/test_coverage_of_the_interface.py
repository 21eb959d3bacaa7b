"""The SDK's table of operations against the service's own description, in both directions."""

from __future__ import annotations

import json
import re
from pathlib import Path

from cmsapi.api.operations import OPERATIONS
from cmsapi.message import Request
from cmsapi.sandbox import Sandbox

REFERENCE = Path(__file__).parents[3] / "docs/reference/costs.txt"
UNLISTED = {"GET /health", "GET /openapi.json", "GET /docs"}


async def described(sandbox: Sandbox) -> dict[str, dict[str, object]]:
    """Return the operations of the service's description by method and path."""
    answer = await sandbox.transport.send(Request("GET", f"{sandbox.base_url}/openapi.json"))
    paths = json.loads(answer.body)["paths"]
    return {
        f"{method.upper()} {path}": operation
        for path, methods in paths.items()
        for method, operation in methods.items()
    }


async def test_the_table_and_the_description_have_the_same_operations(sandbox: Sandbox) -> None:
    """Every row of the table is in the description, and nothing there is missing from the table."""
    routes = {operation.route for operation in OPERATIONS.values()}
    assert routes | UNLISTED == set(await described(sandbox))
    assert len(routes) == len(OPERATIONS)


async def test_the_table_and_the_description_use_the_same_names(sandbox: Sandbox) -> None:
    """Each row has the name that the description gives the operation, and its documented success is there."""
    known = await described(sandbox)
    for name, operation in OPERATIONS.items():
        there = known[operation.route]
        assert (name, operation.name) == (there["operationId"],) * 2
        answers = there["responses"]
        assert isinstance(answers, dict)
        assert {str(code) for code in operation.success} <= set(answers)


def test_each_path_begins_with_the_version() -> None:
    """Every endpoint starts with /v1 (specification 9, rule 1)."""
    assert all(operation.path.startswith("/v1/") for operation in OPERATIONS.values())


def test_every_operation_has_a_method_that_calls_it() -> None:
    """Each operation stands in the reference beside its method, which the tests of costs call.

    Three belong to no resource: `client.me`, and the decisions on a review.
    """
    rows = re.findall(r"^\| `[\w.]+` \|.*$", REFERENCE.read_text(), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert OPERATIONS.keys() - named == {"get_me", "confirm_generation", "cancel_generation"}
