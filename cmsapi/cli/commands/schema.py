"""`cmsapi schema`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

import cmsapi
from cmsapi.cli.terminal.output import print_json


def schema(
    *command: str,
    dry_run: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> None:
    """Print the JSON Schema of what a command prints with --json; sends nothing.

    Without a command it lists the commands that have one.

    Args:
        command: The words of the command, such as: jobs list
        dry_run: The schema for --dry-run, which prints a plan.
    """
    # The other commands need few of the models.
    from cmsapi.cli.support.schemas import SCHEMAS, schema_of

    if not command:
        print("\n".join(SCHEMAS))
        return
    name = " ".join([*command, *(["--dry-run"] if dry_run else [])])
    if name not in SCHEMAS:
        raise cmsapi.ArgumentError(
            f"There is no schema of {name!r}. To list the commands that have one: cmsapi schema", parameter="command"
        )
    print_json(schema_of(name))
